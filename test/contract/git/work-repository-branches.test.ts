import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, vi } from "vitest";
import { findRepository } from "../../../src/git/find-repository.ts";
import { findSensitiveReason, hasChangedScripts } from "../../../src/git/rules/paths-to-review.ts";
import { workRepository } from "../../../src/git/work-repository.ts";
import type { RefMove } from "../../../src/git/work-repository-port.ts";
import { test } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";
import {
  agentOf,
  at,
  bundleFrom,
  commitAsTester,
  everythingIn,
  head,
  keep,
  oneCommit,
  repositoryAt,
  workIn,
  workOf,
} from "../../fakes/git/work.ts";

commitAsTester();

/** Work that was taken in and is to be published as `branch`. */
async function takenIn(repository: string, folder: string, branch = "feat/login") {
  const { base, tip, work } = oneCommit(repository, folder);
  const repo = repositoryAt(repository);
  await repo.importBundle(work());
  return { repo, base, tip, wanted: { commit: tip, base, branch, fallbackBranch: `${branch}-swarm-abcdef` } };
}

describe("work that is published", () => {
  test("makes a branch and nothing else, and is found done the next time", async ({ repository, folder }) => {
    write(repository, "README.md", "changed");
    const { repo, tip, wanted } = await takenIn(repository, folder);
    const leftOut = /^\.git\/(?:objects|aimi|refs\/heads\/feat|logs\/refs\/heads\/feat)$/;
    const before = everythingIn(repository, leftOut);
    const moves: RefMove[] = [];
    const beforeMove = async (move: RefMove): Promise<void> => void moves.push(move);
    const ref = "refs/heads/feat/login";

    const first = await repo.publish({ ...wanted, beforeMove });
    const second = await repo.publish({ ...wanted, beforeMove });

    expect(first).toEqual({ kind: "published", ref, old: null, how: "created", aside: null });
    expect(second).toEqual({ kind: "published", ref, old: tip, how: "found", aside: null });
    expect(moves).toEqual([{ ref, old: null, new: tip }]);
    expect(at(repository, ref)).toBe(tip);
    expect(everythingIn(repository, leftOut)).toEqual(before);
  });

  test("moves a branch on that nobody uses, and finds it when more was built upon it", async ({
    repository,
    folder,
  }) => {
    const { repo, base, tip, wanted } = await takenIn(repository, folder);
    git(repository, "branch", "feat/login", base);

    expect(await repo.publish(wanted)).toMatchObject({ how: "moved", old: base, aside: null });
    git(repository, "checkout", "--quiet", "feat/login");
    const more = workIn(repository, { "more.txt": "more" });
    expect(await repo.publish(wanted)).toMatchObject({ how: "found", ref: "refs/heads/feat/login" });
    expect(at(repository, "refs/heads/feat/login")).toBe(more);
    expect(tip).not.toBe(more);
  });

  test("goes aside where the branch is in use: here, in a linked worktree, without a commit, in a rebase", async ({
    repository,
    folder,
  }) => {
    const { base, tip, wanted } = await takenIn(repository, folder, "used");
    const linked = join(folder, "linked");
    const uses: [use: string, use: () => void, undo: () => void][] = [
      [
        "here",
        () => git(repository, "checkout", "--quiet", "-b", "used", base),
        () => git(repository, "checkout", "--quiet", "main"),
      ],
      [
        "linked",
        () => git(repository, "worktree", "add", "--quiet", linked, "used"),
        () => git(repository, "worktree", "remove", linked),
      ],
      [
        "rebased",
        () => write(repository, ".git/rebase-merge/head-name", "refs/heads/used\n"),
        () => git(repository, "rebase", "--quit"),
      ],
      [
        "bisected",
        () => write(repository, ".git/BISECT_START", "used\n"),
        () => git(repository, "branch", "--quiet", "-D", "used"),
      ],
      [
        "unborn",
        () => git(repository, "symbolic-ref", "HEAD", "refs/heads/used"),
        () => git(repository, "symbolic-ref", "HEAD", "refs/heads/main"),
      ],
    ];
    for (const [name, use, undo] of uses) {
      use();
      const was = at(repository, "refs/heads/used");
      const found = await findRepository(repository);
      const repo = workRepository({ commonFolder: found?.commonFolder ?? "" });

      const published = await repo.publish({ ...wanted, fallbackBranch: `used-${name}` });

      expect(published).toMatchObject({
        ...{ kind: "published", ref: `refs/heads/used-${name}`, how: "created" },
        aside: { branch: "used", why: "in-use" },
      });
      expect(at(repository, "refs/heads/used")).toBe(was);
      expect(at(repository, `refs/heads/used-${name}`)).toBe(tip);
      undo();
    }
  });

  test("goes aside where the branch has other commits, stands for another, or cannot be beside one", async ({
    repository,
    folder,
  }) => {
    const { repo, base, tip, wanted } = await takenIn(repository, folder);
    git(repository, "branch", "free", base);
    git(repository, "symbolic-ref", "refs/heads/alias", "refs/heads/free");
    git(repository, "branch", "taken", base);
    git(repository, "branch", "below/x", base);
    git(repository, "update-ref", "refs/remotes/up/main", base);
    git(repository, "checkout", "--quiet", "--detach");
    const other = workIn(repository, { "other.txt": "other" });
    git(repository, "branch", "other", other);
    git(repository, "checkout", "--quiet", "main");
    const cases = [
      ["other", "elsewhere"],
      ["alias", "alias"],
      ["taken/x", "name-conflict"],
      ["below", "name-conflict"],
      ["--output=x", "invalid-name"],
      ["a..b", "invalid-name"],
      ["x\n", "invalid-name"],
      ["stash", "invalid-name"],
      ["refs/heads/x", "invalid-name"],
      ["up/main", "invalid-name"],
      ["up/new", "invalid-name"],
    ] as const;
    const before = git(repository, "for-each-ref");

    for (const [number, [branch, why]] of cases.entries())
      expect(await repo.publish({ ...wanted, branch, fallbackBranch: `aside-${number}` })).toMatchObject({
        ...{ kind: "published", ref: `refs/heads/aside-${number}`, aside: { why } },
      });

    for (const row of before.trim().split("\n")) expect(git(repository, "for-each-ref")).toContain(row);
    expect(at(repository, "refs/heads/aside-0")).toBe(tip);
  });

  test("is refused, with both reasons, where neither branch can have it", async ({ repository, folder }) => {
    const { repo, wanted } = await takenIn(repository, folder);

    expect(await repo.publish({ ...wanted, branch: "main", fallbackBranch: "main/x" })).toMatchObject({
      kind: "refused",
      obstacles: [{ why: "in-use" }, { why: "name-conflict" }],
    });
  });

  test("stays where it went aside, when a crash came before that was written down and the way is free now", async ({
    repository,
    folder,
  }) => {
    const { repo, base, wanted } = await takenIn(repository, folder);
    git(repository, "checkout", "--quiet", "-b", "feat/login", base);
    await repo.publish(wanted);
    git(repository, "checkout", "--quiet", "main");

    expect(await repo.publish(wanted)).toMatchObject({
      how: "found",
      ref: `refs/heads/${wanted.fallbackBranch}`,
    });
    expect(at(repository, "refs/heads/feat/login")).toBe(base);
  });

  test("by two at once: the same work once, different work on two branches", async ({
    repository,
    folder,
  }) => {
    const { base, tip, wanted } = await takenIn(repository, folder);
    const agent = agentOf(repository, folder, "second");
    const other = workIn(agent, { "b.txt": "b" });
    const repo = repositoryAt(repository);
    await repo.importBundle(workOf(bundleFrom(agent, base), { base, tip: other, keepRef: `${keep}-2` }));

    const both = await Promise.all([
      repositoryAt(repository).publish(wanted),
      repositoryAt(repository).publish({ ...wanted, commit: other, fallbackBranch: "second" }),
      repositoryAt(repository).publish(wanted),
    ]);

    expect(both.map(({ kind }) => kind)).toEqual(["published", "published", "published"]);
    const refs = both.map((one) => (one.kind === "published" ? one.ref : ""));
    expect(refs[0]).toBe(refs[2]);
    expect(refs[1]).not.toBe(refs[0]);
    expect(at(repository, refs[0] ?? "")).toBe(tip);
    expect(at(repository, refs[1] ?? "")).toBe(other);
  });
});

describe("one base of several", () => {
  test("is the one that has the others, or a merge that is the same whoever makes it again", async ({
    repository,
  }) => {
    const base = head(repository);
    const work = (name: string): string => {
      git(repository, "checkout", "--quiet", "--detach", base);
      return workIn(repository, { [`${name}.txt`]: name });
    };
    const [one, two, three] = [work("one"), work("two"), work("three")];
    const repo = repositoryAt(repository);

    const merged = await repo.mergeBases([one, base, two, three]);
    vi.stubEnv("GIT_COMMITTER_NAME", "Another");
    vi.stubEnv("GIT_AUTHOR_DATE", "2001-01-01T00:00:00Z");
    const again = await repo.mergeBases([one, two, three, one]);

    expect(await repo.mergeBases([base, one])).toEqual({ kind: "commit", commit: one });
    expect(again).toEqual(merged);
    const commit = merged.kind === "commit" ? merged.commit : "";
    expect(git(repository, "ls-tree", "--name-only", commit)).toBe(
      "README.md\none.txt\nthree.txt\ntwo.txt\n",
    );
    expect(await repo.hasCommit(commit)).toBe(true);
    expect(await repo.hasCommit("1".repeat(40))).toBe(false);
  });

  test("is a conflict that names the files", async ({ repository }) => {
    const base = head(repository);
    const one = workIn(repository, { "README.md": "one", "fine.txt": "x" });
    git(repository, "checkout", "--quiet", "--detach", base);
    const two = workIn(repository, { "README.md": "two" });

    expect(await repositoryAt(repository).mergeBases([one, two])).toEqual({
      kind: "conflict",
      files: ["README.md"],
    });
  });
});

describe("what the work changes", () => {
  test("is listed where it deserves a look", async ({ repository }) => {
    workIn(repository, { "package.json": '{"scripts":{"test":"a"}}', "sub/package.json": '{"version":"1"}' });
    const base = head(repository);
    symlinkSync("../outside", join(repository, "out"));
    symlinkSync("README.md", join(repository, "inside"));
    const tip = workIn(repository, {
      ...{ "src/a.ts": "x", "package.json": '{"scripts":{"test":"a","postinstall":"b"}}' },
      ...{ "sub/package.json": '{"version":"2"}', ".github/workflows/ci.yml": "x", "sub/.claude/x": "x" },
      ...{ "docs/CLAUDE.md": "x", Dockerfile: "x", ".gitattributes": "x", ".Husky/pre-commit": "x" },
    });

    expect(await repositoryAt(repository).sensitivePaths(base, tip)).toEqual({
      paths: [
        { path: ".Husky/pre-commit", why: "git-hooks" },
        { path: ".gitattributes", why: "git-settings" },
        { path: ".github/workflows/ci.yml", why: "workflow" },
        { path: "Dockerfile", why: "dockerfile" },
        { path: "docs/CLAUDE.md", why: "agent-settings" },
        { path: "out", why: "link-out" },
        { path: "package.json", why: "package-scripts" },
        { path: "sub/.claude/x", why: "agent-settings" },
      ],
      ...{ isCut: false, deleted: { total: 0, paths: [] } },
    });
    // What is taken away deserves it too.
    const back = await repositoryAt(repository).sensitivePaths(tip, base);
    expect(back.paths).toHaveLength(7);
    // Whatever it is: a commit that began without the files of the one before it looks like this.
    expect(back.deleted.paths).toContain("src/a.ts");
    expect(back.deleted.total).toBe(back.deleted.paths.length);
  });

  test.for<[path: string, linkTo: string | null, why: string | null]>([
    ["a/b.ts", null, null],
    [".aimi/tasks/x.json", null, "swarm-settings"],
    [".devcontainer", "elsewhere", "dev-container"],
    [".devcontainer.json", null, "dev-container"],
    ["AGENTS.md", null, "agent-settings"],
    ["api.Dockerfile", null, "dockerfile"],
    ["Dockerfile.dev", null, "dockerfile"],
    ["my-dockerfile-notes.md", null, null],
    [".github", "x", "workflow"],
    [".github/ISSUE_TEMPLATE.md", null, null],
    [".gitmodules", null, "git-settings"],
    ["a/link", "../b", null],
    ["a/link", "../../b", "link-out"],
    ["link", "/etc/passwd", "link-out"],
  ])("%s -> %s is %s", ([path, linkTo, why]) => {
    expect(findSensitiveReason({ path, linkTo, hasChangedScripts: false })).toBe(why);
  });

  test("other scripts of a package are those that say something else", () => {
    const scripts = (text: string): string => `{"scripts":${text}}`;

    expect(hasChangedScripts(null, "{}")).toBe(false);
    expect(hasChangedScripts(null, scripts('{"a":"b"}'))).toBe(true);
    expect(hasChangedScripts(scripts('{"a":"1","b":"2"}'), scripts('{"b":"2","a":"1"}'))).toBe(false);
    expect(hasChangedScripts(scripts('{"a":"1"}'), "{}")).toBe(true);
    expect(hasChangedScripts("{}", "{ broken")).toBe(true);
    expect(hasChangedScripts("{ broken", "{ broken")).toBe(false);
  });

  test("is told in commits and lines, in words that nothing can be done with", async ({ repository }) => {
    const base = head(repository);
    write(repository, "bin", Buffer.from([0, 1, 2]));
    const first = workIn(repository, { "a.txt": "1\n2\n" }, "First \u001b[31mred\u001b[0m \u202eturned");
    vi.stubEnv("GIT_AUTHOR_NAME", "Evil \u0007\u001b]0;title\u0007One");
    const second = workIn(repository, { "a.txt": "1\n", "b\u001b[2J.txt": "x\n" }, "Second\n\nwith more");

    expect(await repositoryAt(repository).changes(base, second)).toEqual({
      commits: [
        { id: first, author: "Tester", subject: "First red turned" },
        { id: second, author: "Evil One", subject: "Second" },
      ],
      files: [
        { path: "a.txt", added: 1, deleted: 0 },
        { path: "b.txt", added: 1, deleted: 0 },
        { path: "bin", added: null, deleted: null },
      ],
      totals: { files: 3, added: 2, deleted: 0 },
      isCut: false,
    });
  });
});
