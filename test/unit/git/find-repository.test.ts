import { mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { findRepository } from "../../../src/git/find-repository.ts";
import { test } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";

/** What git itself says of a folder. */
function askGit(folder: string): { root: string; gitFolder: string; commonFolder: string } {
  const ask = (...args: string[]): string =>
    git(folder, "rev-parse", "--path-format=absolute", ...args).trim();
  return {
    root: ask("--show-toplevel"),
    gitFolder: ask("--absolute-git-dir"),
    commonFolder: ask("--git-common-dir"),
  };
}

describe("the repository around a folder is the one that git finds", () => {
  test("from its root and from deep inside", async ({ repository }) => {
    const deep = join(repository, "a/b/c");
    mkdirSync(deep, { recursive: true });

    expect(await findRepository(repository)).toEqual({ ...askGit(repository), worktree: "." });
    expect(await findRepository(deep)).toEqual({ ...askGit(deep), worktree: "." });
  });

  test("in a linked worktree", async ({ repository, folder }) => {
    const linked = join(folder, "linked");
    git(repository, "worktree", "add", "-q", linked);

    expect(await findRepository(linked)).toEqual({ ...askGit(linked), worktree: "linked" });
  });

  test("in a submodule", async ({ repository, folder }) => {
    const outer = join(folder, "outer");
    git(folder, "init", "-q", outer);
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", repository, "inner");
    const inner = join(outer, "inner");

    expect(await findRepository(inner)).toEqual({ ...askGit(inner), worktree: "." });
  });

  test("outside of any there is none; a folder called .git alone makes none", async ({ folder }) => {
    write(folder, ".git/nothing", "");

    expect(await findRepository(realpathSync(folder))).toBeNull();
  });
});
