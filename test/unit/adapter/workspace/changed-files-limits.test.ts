import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test as base, describe, expect } from "vitest";
import { TimeLimitReached } from "../../../../adapter/machine/pause-aware-clock.ts";
import {
  ChangedFilesTooLargeError,
  checkChangedFilesLimits,
} from "../../../../adapter/workspace/changed-files-limits.ts";
import { createGit } from "../../../../adapter/workspace/git.ts";
import { git, write } from "../../../fakes/git/repository.ts";

const env = { PATH: "/usr/bin:/bin", HOME: "/nonexistent" };
const workLimits = { workFiles: 5, workBytes: 4_000, workFileBytes: 2_000 };
const limit = () => ({ signal: new AbortController().signal, [Symbol.dispose]: () => {} });
const tebi = 1024 ** 4;

/** A repository with a file that is as large as nothing new may be, and more files than may be new. */
const test = base.extend<{ folder: string }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the parameters
  folder: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "swarm-measure-"));
    chmodSync(folder, 0o755);
    git(folder, "init", "--quiet", "--initial-branch=main");
    write(folder, ".gitignore", "node_modules\n");
    write(folder, "old.bin", "o".repeat(9_000));
    for (let index = 0; index < 9; index += 1) write(folder, `old/${index}`, `${index}`);
    git(folder, "add", "--all");
    git(folder, "-c", "user.name=T", "-c", "user.email=t@x", "commit", "--quiet", "-m", "Begin");
    await use(folder);
    rmSync(folder, { recursive: true, force: true });
  },
});

/** What the measuring says; null when all of it may be committed. */
async function refusalOf(folder: string): Promise<ChangedFilesTooLargeError | null> {
  execFileSync("chown", ["-R", "1000:1000", folder]);
  const deps = { folder, git: createGit({ folder, env, limit }), limit, base: "main", workLimits };
  try {
    await checkChangedFilesLimits(deps, {});
    return null;
  } catch (error) {
    if (error instanceof ChangedFilesTooLargeError) return error;
    throw error;
  }
}

// It becomes another user, which only root may.
describe.skipIf(process.getuid?.() !== 0)("what a task may commit", () => {
  const leavings: readonly [what: string, leave: (folder: string) => void, refusal: RegExp | null][] = [
    ["nothing new", () => {}, null],
    ["changes of the same size", (folder) => write(folder, "old.bin", "n".repeat(9_000)), null],
    ["as many files as may be", (folder) => fill(folder, "new", 5), null],
    [
      "one more",
      (folder) => fill(folder, "new", 6),
      /^the story has more than 5 new.* 6 of the first 6 are in new\/: .*\.gitignore.* work\.files$/,
    ],
    ["any number of ignored files", (folder) => fill(folder, "node_modules/a", 500), null],
    [
      "a large one",
      (folder) => write(folder, "a b\n.bin", "x".repeat(2_001)),
      /^the file a b\n\.bin with 2 KiB exceeds the limit of 2 KiB for one file: .*work\.fileSize$/,
    ],
    [
      "a sparse terabyte",
      (folder) => truncateSync(write(folder, "s.bin", ""), tebi),
      /^the file s\.bin with 1 TiB \(0 B on the disk\) exceeds/,
    ],
    [
      "an old one that grew",
      (folder) => truncateSync(join(folder, "old.bin"), tebi),
      /^the file old\.bin with 1 TiB \(/,
    ],
    [
      "several large ones",
      (folder) => ["a", "b"].map((name) => write(folder, name, "x".repeat(3_000))),
      /^the file a with 2\.9 KiB \(and 1 more\) exceeds/,
    ],
    [
      "much in all",
      (folder) => ["a", "b", "c"].map((name) => write(folder, name, "x".repeat(1_900))),
      /^the new and changed files have more than 3\.9 KiB in total, and the largest is a with 1\.9 KiB: .*work\.size$/,
    ],
    [
      "a name that is no text",
      (folder) =>
        execFileSync("sh", ["-c", "head -c 3000 /dev/zero > \"$(printf 'x\\377')\""], { cwd: folder }),
      /^the file x\ufffd with/,
    ],
  ];
  test.for(leavings)("%s", async ([_what, leave, refusal], { folder }) => {
    leave(folder);

    const refused = await refusalOf(folder);

    if (refusal === null) expect(refused).toBeNull();
    else expect(refused?.message).toMatch(refusal);
  });

  test("names the files without which the rest could be committed", async ({ folder }) => {
    truncateSync(write(folder, "s.bin", ""), tebi);
    write(folder, "honest.txt", "work");

    expect((await refusalOf(folder))?.pathsToLeaveOut).toEqual(["s.bin"]);
  });

  test("control: git reads such a file until its time is over, and says so", async ({ folder }) => {
    truncateSync(write(folder, "s.bin", ""), tebi);
    execFileSync("chown", ["-R", "1000:1000", folder]);
    const soon = (): ReturnType<typeof limit> => {
      const over = new AbortController();
      const timer = setTimeout(() => over.abort(new TimeLimitReached(120_000)), 300);
      return { signal: over.signal, [Symbol.dispose]: () => clearTimeout(timer) };
    };

    const adding = createGit({ folder, env, limit: soon }).run(["add", "--all"]);

    await expect(adding).rejects.toThrow(/^git add took longer than 2 min 0 s$/);
  });
});

function fill(folder: string, path: string, files: number): void {
  for (let index = 0; index < files; index += 1) write(folder, `${path}/${index}`, "");
}
