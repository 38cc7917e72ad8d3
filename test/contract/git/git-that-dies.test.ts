import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, vi } from "vitest";
import { test } from "../../fakes/folders.ts";
import { blob, bundleOf, commit, idOf, packOf, type RawObject, tree } from "../../fakes/git/bundles.ts";
import {
  commitAsTester,
  expectTidy,
  head,
  headerOf,
  oneCommit,
  repositoryAt,
  workOf,
} from "../../fakes/git/work.ts";

commitAsTester();
afterEach(() => {
  vi.unstubAllEnvs();
});

/** Puts a git in front of the real one, which does something else when it is called by these words. */
function interpose(folder: string, words: string, instead: string): void {
  const real = execFileSync("sh", ["-c", "command -v git"], { encoding: "utf8" }).trim();
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const script = `#!/bin/sh\ncase "$*" in *"${words}"*) ${instead};; esac\nexec ${real} "$@"\n`;
  writeFileSync(join(bin, "git"), script);
  chmodSync(join(bin, "git"), 0o755);
  vi.stubEnv("PATH", `${bin}:${process.env["PATH"]}`);
}

for (const [words, signal] of [
  ["rev-list --objects", "INT"],
  ["rev-list --objects", "TERM"],
  ["rev-list --objects", "KILL"],
  ["index-pack", "KILL"],
] as const)
  test(`a git that is ended by SIG${signal} says nothing of the work: ${words}`, async ({
    repository,
    folder,
  }) => {
    const { work, tip } = oneCommit(repository, folder);
    interpose(folder, words, `kill -${signal} $$`);

    await expect(repositoryAt(repository).importBundle(work())).rejects.toMatchObject({
      code: "GIT_FAILED",
      details: { reason: `git was ended by the signal SIG${signal}` },
    });
    expectTidy(repository);

    vi.unstubAllEnvs();
    expect(await repositoryAt(repository).importBundle(work())).toEqual({ kind: "taken", commit: tip });
  });

test("a git that crashes on a pack refuses it", async ({ repository, folder }) => {
  const { work } = oneCommit(repository, folder);
  interpose(folder, "index-pack", "kill -SEGV $$");

  expect(await repositoryAt(repository).importBundle(work())).toMatchObject({ kind: "refused", why: "pack" });
  expectTidy(repository);
});

test("a history whose folders are too deep for git is told as deep", async ({ repository, folder }) => {
  const base = head(repository);
  const content = blob("x");
  const leaf = tree(["100644", "f", idOf(content)]);
  const levels: RawObject[] = [leaf];
  let id = idOf(leaf);
  for (let level = 0; level < 5_000; level += 1) {
    const outer = tree(["40000", "d", id]);
    levels.push(outer);
    id = idOf(outer);
  }
  // Only the commit in between has them.
  const between = commit(id, [base]);
  const last = commit(idOf(leaf), [idOf(between)]);
  const tip = idOf(last);
  const bytes = bundleOf(headerOf(base, tip), packOf([content, ...levels, between, last]));
  // With the usual stack it takes 60 times as many.
  interpose(folder, "rev-list --objects", "ulimit -s 256");

  expect(await repositoryAt(repository).importBundle(workOf(bytes, { base, tip }))).toMatchObject({
    ...{ kind: "refused", why: "too-deep" },
    reason: "git crashed while it read the bundle's history, probably because folders are nested too deep",
  });
  expectTidy(repository);
});
