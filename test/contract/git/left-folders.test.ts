import { mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, vi } from "vitest";
import { createCommitReader } from "../../../src/git/commit-reader.ts";
import { createProcessFolder } from "../../../src/machine/process-folder.ts";
import { test as base } from "../../fakes/folders.ts";
import { head } from "../../fakes/git/work.ts";
import { ended, startProgram } from "../../fakes/machine/processes.ts";

const test = base.extend<{ temporary: string }>({
  temporary: async ({ folder }, use) => {
    const temporary = join(folder, "temporary");
    mkdirSync(temporary);
    vi.stubEnv("TMPDIR", temporary);
    await use(temporary);
    vi.unstubAllEnvs();
  },
});

let host = "";
beforeEach(() => {
  host = hostname().replace(/[^A-Za-z0-9-]/g, "-");
});

test("a bundle of a process that was killed is gone once the next one is made", async ({
  repository,
  temporary,
}) => {
  const commit = head(repository);
  await ended(startProgram("git/bundle-process", repository, commit));
  const left = readdirSync(temporary);
  expect(left).toEqual([expect.stringMatching(/^swarm-bundle-/)]);

  {
    await using bundle = await createCommitReader(repository).bundle(commit, "workspace");
    // Whoever makes one at the same time keeps it.
    await using _another = await createCommitReader(repository).bundle(commit, "workspace");
    const now = readdirSync(temporary);
    expect(now).toHaveLength(2);
    expect(now).not.toContain(left[0]);
    expect(now.some((name) => bundle.file.includes(name))).toBe(true);
  }

  expect(readdirSync(temporary)).toEqual([]);
});

test("what others have there stays: living processes, other machines, other kinds, other names", async ({
  folder,
  temporary,
}) => {
  const gone = "999999999";
  const others = [`swarm-x-${host}.${process.pid}.ab`, `swarm-x-elsewhere.${gone}.ab`, "swarm-x-AbCdEf"];
  const strangers = [`swarm-y-${host}.${gone}.ab`, `${host}.${gone}.ab`, "swarm-x"];
  for (const name of [...others, ...strangers]) mkdirSync(join(temporary, name));
  mkdirSync(join(folder, "precious"));
  writeFileSync(join(folder, "precious", "file"), "");
  symlinkSync(join(folder, "precious"), join(temporary, `swarm-x-${host}.${gone}.cd`));
  mkdirSync(join(temporary, `swarm-x-${host}.${gone}.ef`));

  {
    await using _own = await createProcessFolder(temporary, "swarm-x-");
  }

  // No folder of ours is a link.
  const kept = [...others, ...strangers, `swarm-x-${host}.${gone}.cd`];
  expect(readdirSync(temporary).toSorted()).toEqual(kept.toSorted());
  expect(readdirSync(join(folder, "precious"))).toEqual(["file"]);
});

test("what is older than anything there may take is gone, whoever made it", async ({ temporary }) => {
  const twoDaysAgo = new Date(Date.now() - 48 * 3_600_000);
  for (const name of ["swarm-x-elsewhere.1.ab", "swarm-x-AbCdEf"]) {
    mkdirSync(join(temporary, name));
    utimesSync(join(temporary, name), twoDaysAgo, twoDaysAgo);
  }

  {
    await using _own = await createProcessFolder(temporary, "swarm-x-");
  }

  expect(readdirSync(temporary)).toEqual([]);
});
