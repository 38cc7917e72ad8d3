import { createHash } from "node:crypto";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { findRepository } from "../../../src/git/find-repository.ts";
import { workRepository } from "../../../src/git/work-repository.ts";
import { test } from "../../fakes/folders.ts";
import { commit, tree } from "../../fakes/git/bundles.ts";
import { git, write } from "../../fakes/git/repository.ts";
import {
  at,
  bundleFrom,
  commitAsTester,
  everythingIn,
  expectTidy,
  head,
  keep,
  oneCommit,
  refusal,
  repositoryAt,
  workIn,
  workOf,
} from "../../fakes/git/work.ts";
import { ended, startProgram } from "../../fakes/machine/processes.ts";

commitAsTester();

/** What may change by taking work in. */
const ours = /^\.git\/(?:objects|aimi|refs\/aimi|logs\/refs\/aimi)$/;

describe("what the adapter recorded when a story began", () => {
  test("is the tree of the commit before it, or the work is refused", async ({ repository, folder }) => {
    const { base, work } = oneCommit(repository, folder);
    const [tree, other] = [`${base}^{tree}`, "HEAD:README.md"].map((name) =>
      git(repository, "rev-parse", name).trim(),
    ) as [string, string];

    const withOtherFiles = { ...work(), start: { commit: base, tree: other } };
    const afterUnknown = { ...work(), start: { commit: other, tree } };
    expect(await refusal(repository, withOtherFiles)).toBe("start");
    expect(await refusal(repository, afterUnknown)).toBe("start");
    const taken = await repositoryAt(repository).importBundle({ ...work(), start: { commit: base, tree } });
    expect(taken).toMatchObject({ kind: "taken" });
  });
});

describe("work that is taken in", () => {
  test("is kept at its ref, whole, and nothing of the user's has changed", async ({ repository, folder }) => {
    write(repository, "staged.txt", "staged");
    git(repository, "add", "staged.txt");
    write(repository, "README.md", "stashed");
    git(repository, "stash", "--quiet");
    write(repository, "README.md", "changed");
    const { tip, work } = oneCommit(repository, folder);
    const before = everythingIn(repository, ours);

    const taken = await repositoryAt(repository).importBundle(work());

    expect(taken).toEqual({ kind: "taken", commit: tip });
    expect(at(repository, keep)).toBe(tip);
    expect(git(repository, "show", `${keep}:a.txt`)).toBe("a\n");
    git(repository, "fsck", "--strict", "--connectivity-only");
    expect(everythingIn(repository, ours)).toEqual(before);
    expectTidy(repository);
  });

  test("builds upon what is here: a pack of differences is made whole", async ({ repository, folder }) => {
    const long = Array.from({ length: 3_000 }, (_, line) =>
      createHash("md5").update(`${line}`).digest("hex"),
    );
    workIn(repository, { "long.txt": long.join("\n") });
    const { bytes, work } = oneCommit(repository, folder, { "long.txt": `${long.join("\n")}\nmore\n` });

    const taken = await repositoryAt(repository).importBundle(work());

    expect(bytes.length).toBeLessThan(5_000);
    expect(taken.kind).toBe("taken");
    expect(git(repository, "show", `${keep}:long.txt`)).toMatch(/\nmore\n$/);
    git(repository, "gc", "--quiet", "--prune=now");
    git(repository, "fsck", "--strict");
  });

  test("is here to stay while some ref has it, and not by its objects alone", async ({
    repository,
    folder,
  }) => {
    const { tip, work } = oneCommit(repository, folder);
    const repo = repositoryAt(repository);
    expect(await repo.isReferenced(tip)).toBe(false);

    await repo.importBundle(work());
    expect(await repo.isReferenced(tip)).toBe(true);

    // Later work upon it keeps it as well; without a ref only its objects are left, until git tidies up.
    git(
      repository,
      "branch",
      "later",
      git(repository, "commit-tree", "-p", tip, "-m", "More", `${tip}^{tree}`).trim(),
    );
    git(repository, "update-ref", "-d", keep);
    expect(await repo.isReferenced(tip)).toBe(true);
    git(repository, "branch", "-D", "later");
    expect([await repo.hasCommit(tip), await repo.isReferenced(tip)]).toEqual([true, false]);
  });

  test("is found done the second time, without its bundle being read", async ({ repository, folder }) => {
    const { tip, work } = oneCommit(repository, folder);
    const repo = repositoryAt(repository);
    await repo.importBundle(work());
    let isRead = false;
    const again = {
      ...work(),
      old: tip,
      bundle: (async function* () {
        isRead = true;
        yield new Uint8Array();
      })(),
    };

    expect(await repo.importBundle(again)).toEqual({ kind: "already", commit: tip });
    expect(await repo.importBundle(work())).toEqual({ kind: "already", commit: tip });
    expect(isRead).toBe(false);
  });

  test("goes on from what was taken in before, or is told to be rewritten", async ({
    repository,
    folder,
  }) => {
    const { agent, base, tip, work } = oneCommit(repository, folder);
    const repo = repositoryAt(repository);
    await repo.importBundle(work());
    const second = workIn(agent, { "b.txt": "b" });
    const grown = workOf(bundleFrom(agent, base), { base, tip: second, old: tip });
    git(agent, "reset", "--quiet", "--hard", base);
    const other = workIn(agent, { "c.txt": "c" });
    const rewritten = workOf(bundleFrom(agent, base), { base, tip: other, old: second });

    expect(await repo.importBundle(grown)).toEqual({ kind: "taken", commit: second });
    expect(await repo.importBundle(rewritten)).toEqual({ kind: "rewritten" });
    expect(at(repository, keep)).toBe(second);
  });

  test("is not put over what nobody told of; a ref that was deleted is made again", async ({
    repository,
    folder,
  }) => {
    const { base, tip, bytes } = oneCommit(repository, folder);
    const repo = repositoryAt(repository);
    git(repository, "update-ref", keep, base);

    expect(await repo.importBundle(workOf(bytes, { base, tip }))).toMatchObject({
      kind: "refused",
      why: "ref-moved",
    });
    expect(at(repository, keep)).toBe(base);
    git(repository, "update-ref", "-d", keep);
    expect(await repo.importBundle(workOf(bytes, { base, tip, old: base }))).toMatchObject({ kind: "taken" });
  });

  test("can be what is left of a story that failed", async ({ repository, folder }) => {
    const { agent, base } = oneCommit(repository, folder);
    git(agent, "update-ref", "refs/aimi/failed/US-1", "HEAD");
    const bytes = bundleFrom(agent, base, "refs/aimi/failed/US-1");
    const facts = { base, tip: head(agent), keepRef: "refs/aimi/failed/swarm-1/login/US-1" };

    const taken = await repositoryAt(repository).importBundle(
      workOf(bytes, { ...facts, expectedRef: "refs/aimi/failed/US-1" }),
    );

    expect(taken.kind).toBe("taken");
    expect(at(repository, facts.keepRef)).toBe(facts.tip);
  });

  test("comes into a linked worktree's repository, a shallow one, and one with odd characters in its path", async ({
    repository,
    folder,
  }) => {
    workIn(repository, { "second.txt": "2" });
    const odd = join(folder, 'odd "name" #\\');
    git(folder, "clone", "--quiet", "--depth=1", `file://${repository}`, odd);
    const linked = join(folder, "linked");
    git(odd, "worktree", "add", "--quiet", linked);
    const { tip, work } = oneCommit(repository, folder);

    const found = await findRepository(linked);
    const taken = await workRepository({ commonFolder: found?.commonFolder ?? "" }).importBundle(work());

    expect(taken).toEqual({ kind: "taken", commit: tip });
    expect(at(linked, keep)).toBe(tip);
  });

  test("comes into a repository that has an old defect of its own, even in what the work builds upon", async ({
    repository,
    folder,
  }) => {
    const store = (type: string, bytes: Buffer): string => {
      const file = join(folder, "object");
      writeFileSync(file, bytes);
      return git(repository, "hash-object", "-t", type, "--literally", "-w", file).trim();
    };
    const content = store("blob", Buffer.from("x"));
    const inner = store("tree", tree(["100644", "x", content]).bytes);
    const many = Array.from({ length: 400 }, (_, name): [string, string, string] => [
      ...(["100644", `file-${1000 + name}`, content] as const),
    ]);
    const root = store("tree", tree(...many, ["040000", "old", inner]).bytes);
    const base = store("commit", commit(root, []).bytes);
    git(repository, "reset", "--quiet", "--hard", base);
    const { work, bytes, agent } = oneCommit(repository, folder, { "file-1200": "changed" });

    const taken = await repositoryAt(repository).importBundle(work());

    expect(taken.kind).toBe("taken");
    // Control: the defect is one, and the work's tree is stored as the difference to it.
    expect(() => git(repository, "fsck", "--strict")).toThrow(/zeroPadded/);
    expect(bytes.length).toBeLessThan(2_000);
    expect(git(agent, "cat-file", "-s", "HEAD^{tree}").trim()).not.toBe("0");
  });
});

describe("a kill while work is taken in", () => {
  for (const point of ["storing", "stored", "checked", "objects-moved", "ref-moved"] as const)
    test(`at "${point}" is made good by the next time`, async ({ repository, folder }) => {
      const { tip, work, bytes } = oneCommit(repository, folder);
      const { bundle: _bundle, ...facts } = work();
      const file = join(folder, "killed.bundle");
      writeFileSync(file, bytes);
      const child = startProgram(
        "git/take-in-process",
        join(repository, ".git"),
        file,
        point,
        JSON.stringify(facts),
      );
      expect(await ended(child)).toBeNull();
      expect(readdirSync(join(repository, ".git/aimi/quarantine"))).toHaveLength(1);
      const isDone = at(repository, keep) === tip;

      const taken = await repositoryAt(repository).importBundle(work());

      expect(isDone).toBe(point === "ref-moved");
      expect(taken).toEqual({ kind: isDone ? "already" : "taken", commit: tip });
      git(repository, "fsck", "--strict");
      // What is found done opens no quarantine; the next that does clears up.
      await repositoryAt(repository).hasCommit(tip);
      expect(readdirSync(join(repository, ".git/aimi/quarantine"))).toEqual([]);
      expect(
        readdirSync(join(repository, ".git/objects/pack")).filter((name) => name.endsWith(".pack")),
      ).toHaveLength(1);
    });

  test("between a pack and its index is, too", async ({ repository, folder }) => {
    const { tip, work } = oneCommit(repository, folder);
    const repo = repositoryAt(repository);
    await repo.importBundle(work());
    git(repository, "update-ref", "-d", keep);
    const packs = join(repository, ".git/objects/pack");
    for (const name of readdirSync(packs))
      if (name.endsWith(".idx")) rmSync(join(packs, name), { force: true });
    expect(await repo.hasCommit(tip)).toBe(false);

    expect(await repo.importBundle(work())).toEqual({ kind: "taken", commit: tip });
    git(repository, "fsck", "--strict");
    expectTidy(repository);
  });

  test("by a signal leaves nothing", async ({ repository, folder }) => {
    const { work } = oneCommit(repository, folder);
    const controller = new AbortController();
    const stop = new Error("stop");
    const bundle = (async function* () {
      yield* work().bundle;
      controller.abort(stop);
    })();

    await expect(
      repositoryAt(repository).importBundle({ ...work(), bundle }, controller.signal),
    ).rejects.toBe(stop);
    expect(at(repository, keep)).toBeNull();
    expectTidy(repository);
  });
});
