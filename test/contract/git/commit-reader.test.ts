import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, vi } from "vitest";
import { createCommitReader } from "../../../src/git/commit-reader.ts";
import { test } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";

beforeEach(() => {
  vi.stubEnv("GIT_AUTHOR_NAME", "Tester");
  vi.stubEnv("GIT_AUTHOR_EMAIL", "tester@example.invalid");
  vi.stubEnv("GIT_COMMITTER_NAME", "Tester");
  vi.stubEnv("GIT_COMMITTER_EMAIL", "tester@example.invalid");
});
afterEach(() => {
  vi.unstubAllEnvs();
});

function commitAll(repository: string, message = "Go on"): string {
  git(repository, "add", "--all", "--force");
  git(repository, "commit", "--quiet", "--allow-empty", "--message", message);
  return git(repository, "rev-parse", "HEAD").trim();
}

/** The commits that somebody has who gets nothing but the bundle. */
function historyIn(file: string, folder: string): string[] {
  const clone = join(folder, "from-bundle");
  git(folder, "clone", "--quiet", "--branch", "workspace", file, clone);
  git(clone, "fsck", "--strict");
  return git(clone, "log", "--format=%s").trim().split("\n");
}

describe("a commit, as git's objects have it", () => {
  test("is none before the first one, and then the one of HEAD, on a branch or not", async ({
    folder,
    repository,
  }) => {
    git(folder, "init", "--quiet", "empty");
    const first = git(repository, "rev-parse", "HEAD").trim();
    const second = commitAll(repository);

    expect(await createCommitReader(join(folder, "empty")).head()).toBeNull();
    expect(await createCommitReader(repository).head()).toBe(second);
    git(repository, "checkout", "--quiet", "--detach", first);
    expect(await createCommitReader(repository).head()).toBe(first);
  });

  test("has files, programs, links and submodules, whatever they are called", async ({
    repository,
    folder,
  }) => {
    const names = ["a b.txt", "ünï/cödé.txt", "two\nlines", "tab\there", '"quoted" \\ $(x)', "-dash", " x "];
    for (const name of names) write(repository, name, name);
    write(repository, "run.sh", "#!/bin/sh\n");
    git(repository, "add", "run.sh");
    git(repository, "update-index", "--chmod=+x", "run.sh");
    git(repository, "config", "core.fileMode", "false");
    symlinkSync("/etc/passwd", join(repository, "away"));
    git(folder, "clone", "--quiet", repository, "inner");
    git(
      repository,
      ...["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", join(folder, "inner"), "sub"],
    );
    const commit = commitAll(repository);

    const files = await createCommitReader(repository).files(commit);

    const kinds = Object.fromEntries(files.map(({ path, kind }) => [path, kind]));
    expect(kinds).toEqual({
      ...Object.fromEntries(names.map((name) => [name, "file"])),
      ...{ "README.md": "file", ".gitmodules": "file" },
      ...{ "run.sh": "program", away: "link", sub: "submodule" },
    });
    for (const { path, id } of files) expect(git(repository, "rev-parse", `HEAD:${path}`).trim()).toBe(id);
  });

  test("is read whole from a folder inside it, and neither the index nor the working tree counts", async ({
    repository,
  }) => {
    write(repository, "deep/er/file.txt", "committed");
    const commit = commitAll(repository);
    write(repository, "deep/er/file.txt", "staged");
    git(repository, "add", "--all");
    rmSync(join(repository, "README.md"));

    const reader = createCommitReader(join(repository, "deep"));
    const files = await reader.files(commit);

    expect(files.map(({ path }) => path)).toEqual(["README.md", "deep/er/file.txt"]);
    expect((await reader.contents(files.map(({ id }) => id))).map(String)).toEqual([
      "# A sample\n",
      "committed",
    ]);
  });

  test("gives contents in the order asked, byte by byte, empty and repeated ones too", async ({
    repository,
  }) => {
    const binary = Buffer.from([0, 10, 13, 255, 10, 0]);
    write(repository, "binary", binary);
    write(repository, "empty", "");
    write(repository, "large", Buffer.alloc(3_000_000, 7));
    const commit = commitAll(repository);
    const reader = createCommitReader(repository);
    const id = new Map((await reader.files(commit)).map((file) => [file.path, file.id]));
    const ask = ["large", "empty", "binary", "empty"].map((path) => id.get(path) ?? "");

    const contents = await reader.contents(ask);

    expect(contents.map(({ length }) => length)).toEqual([3_000_000, 0, 6, 0]);
    expect(contents[2]).toEqual(binary);
    expect(await reader.contents([])).toEqual([]);
  });

  test("whose object is missing is an error that names it", async ({ repository }) => {
    const commit = commitAll(repository);
    const reader = createCommitReader(repository);
    const [file] = await reader.files(commit);
    const id = file?.id ?? "";
    rmSync(join(repository, ".git/objects", id.slice(0, 2), id.slice(2)));

    await expect(reader.contents([id])).rejects.toMatchObject({
      code: "GIT_FAILED",
      message: expect.stringContaining(id),
    });
    await expect(reader.files("0".repeat(40))).rejects.toMatchObject({ code: "GIT_FAILED" });
    await expect(reader.bundle(commit, "workspace")).rejects.toMatchObject({
      code: "GIT_FAILED",
      message: expect.stringContaining(id),
    });
  });

  test("is what it was when it was made, though a replacement was put in its place", async ({
    repository,
    folder,
  }) => {
    const original = commitAll(repository, "The original");
    git(repository, "checkout", "--quiet", "--orphan", "other");
    write(repository, "other.txt", "");
    const other = commitAll(repository, "The other");
    git(repository, "replace", original, other);

    const reader = createCommitReader(repository);
    await using bundle = await reader.bundle(original, "workspace");

    expect((await reader.files(original)).map(({ path }) => path)).toEqual(["README.md"]);
    expect(historyIn(bundle.file, folder)).toEqual(["The original", "Begin"]);
  });

  test("of a repository with SHA-256 is read and bundled alike", async ({ folder }) => {
    const repository = join(folder, "sha256");
    git(folder, "init", "--quiet", "--object-format=sha256", repository);
    write(repository, "file.txt", "content");
    const commit = commitAll(repository, "With long ids");

    const reader = createCommitReader(repository);
    const [file] = await reader.files(commit);
    await using bundle = await reader.bundle(commit, "workspace");

    expect(await reader.head()).toBe(commit);
    expect(commit).toHaveLength(64);
    expect(String((await reader.contents([file?.id ?? ""]))[0])).toBe("content");
    expect(historyIn(bundle.file, folder)).toEqual(["With long ids"]);
  });
});

describe("a bundle", () => {
  test("holds the commit as its only branch, with all of its history and nothing of other branches", async ({
    repository,
    folder,
  }) => {
    git(repository, "branch", "other");
    const commit = commitAll(repository, "Second");
    git(repository, "checkout", "--quiet", "other");
    commitAll(repository, "Elsewhere");

    await using bundle = await createCommitReader(repository).bundle(commit, "workspace");

    expect(git(folder, "bundle", "list-heads", bundle.file)).toBe(`${commit} refs/heads/workspace\n`);
    expect(historyIn(bundle.file, folder)).toEqual(["Second", "Begin"]);
  });

  test("goes with its disposal, a failed one too, and the repository shows no trace of either", async ({
    repository,
    folder,
  }) => {
    const temporary = join(folder, "temporary");
    mkdirSync(temporary);
    vi.stubEnv("TMPDIR", temporary);
    const commit = commitAll(repository);
    const before = [git(repository, "for-each-ref"), git(repository, "count-objects", "--verbose")];
    const reader = createCommitReader(repository);

    const bundle = await reader.bundle(commit, "workspace");
    expect(statSync(bundle.file).size).toBeGreaterThan(0);
    await bundle[Symbol.asyncDispose]();
    await expect(reader.bundle("0".repeat(40), "workspace")).rejects.toMatchObject({ code: "GIT_FAILED" });
    const reason = new Error("enough");
    await expect(reader.bundle(commit, "workspace", AbortSignal.abort(reason))).rejects.toBe(reason);

    expect(existsSync(bundle.file)).toBe(false);
    expect(readdirSync(temporary)).toEqual([]);
    expect([git(repository, "for-each-ref"), git(repository, "count-objects", "--verbose")]).toEqual(before);
  });

  test("of a linked worktree has that worktree's commit", async ({ repository, folder }) => {
    const linked = join(folder, "linked");
    git(repository, "worktree", "add", "--quiet", "-b", "side", linked);
    const commit = commitAll(linked, "On the side");
    commitAll(repository, "In the middle");

    const reader = createCommitReader(linked);
    await using bundle = await reader.bundle((await reader.head()) ?? "", "workspace");

    expect(await reader.head()).toBe(commit);
    expect(historyIn(bundle.file, folder)).toEqual(["On the side", "Begin"]);
  });

  test("of a repository that borrows its objects from another one has them all", async ({
    repository,
    folder,
  }) => {
    const borrowing = join(folder, "borrowing");
    git(folder, "clone", "--quiet", "--shared", repository, borrowing);
    const commit = commitAll(borrowing, "Own");

    await using bundle = await createCommitReader(borrowing).bundle(commit, "workspace");

    expect(historyIn(bundle.file, folder)).toEqual(["Own", "Begin"]);
  });

  test("is made without the user's settings and hooks", async ({ repository, folder }) => {
    const commit = commitAll(repository);
    const hook = write(folder, "hooks/reference-transaction", "#!/bin/sh\nexit 1\n");
    vi.stubEnv("HOME", folder);
    vi.stubEnv("XDG_CONFIG_HOME", join(folder, "none"));
    write(
      folder,
      ".gitconfig",
      `[core]\n\thooksPath = ${join(folder, "hooks")}\n[pack]\n\twindowMemory = x\n`,
    );
    chmodSync(hook, 0o755);

    await using bundle = await createCommitReader(repository).bundle(commit, "workspace");

    expect(statSync(bundle.file).size).toBeGreaterThan(0);
  });
});

describe("the repository", () => {
  test("is the folder's, also where a git hook has named another one", async ({ repository, folder }) => {
    const commit = commitAll(repository, "The right one");
    const other = join(folder, "other");
    git(folder, "init", "--quiet", other);
    commitAll(other, "The wrong one");
    const before = git(other, "for-each-ref");
    vi.stubEnv("GIT_DIR", join(other, ".git"));
    vi.stubEnv("GIT_WORK_TREE", other);
    vi.stubEnv("GIT_INDEX_FILE", join(other, ".git/index"));
    vi.stubEnv("GIT_OBJECT_DIRECTORY", join(other, ".git/objects"));

    const reader = createCommitReader(repository);
    const head = await reader.head();
    const bundle = await reader.bundle(commit, "workspace");

    vi.unstubAllEnvs();
    expect(head).toBe(commit);
    expect(historyIn(bundle.file, folder)).toEqual(["The right one", "Begin"]);
    expect(git(other, "for-each-ref")).toBe(before);
    await bundle[Symbol.asyncDispose]();
  });

  test("that is shallow says so, and a whole one does not", async ({ repository, folder }) => {
    commitAll(repository);
    const shallow = join(folder, "shallow");
    git(folder, "clone", "--quiet", "--depth=1", `file://${repository}`, shallow);

    expect(await createCommitReader(repository).isShallow()).toBe(false);
    expect(await createCommitReader(shallow).isShallow()).toBe(true);
  });

  test("that is a partial clone gives no bundle, and the reason says what to do", async ({
    repository,
    folder,
  }) => {
    write(repository, "old.txt", "only in the history");
    commitAll(repository);
    rmSync(join(repository, "old.txt"));
    const commit = commitAll(repository);
    git(repository, "config", "uploadpack.allowFilter", "true");
    const partial = join(folder, "partial");
    git(folder, "clone", "--quiet", "--filter=blob:none", `file://${repository}`, partial);

    const reader = createCommitReader(partial);

    await expect(reader.bundle(commit, "workspace")).rejects.toMatchObject({
      code: "GIT_FAILED",
      message: expect.stringContaining("the repository is a partial clone"),
    });
    git(partial, "fetch", "--quiet", "--refetch", "--no-filter");
    await using bundle = await reader.bundle(commit, "workspace");
    expect(historyIn(bundle.file, folder)).toHaveLength(3);
  });

  test("that is none, or git that is none, is no repository without commits", async ({
    folder,
    repository,
  }) => {
    await expect(createCommitReader(folder).head()).rejects.toMatchObject({
      code: "GIT_FAILED",
      message: expect.stringContaining("not a git repository"),
    });
    vi.stubEnv("PATH", folder);
    await expect(createCommitReader(repository).head()).rejects.toMatchObject({
      code: "GIT_FAILED",
      message: expect.stringContaining("git is not installed"),
    });
  });
});
