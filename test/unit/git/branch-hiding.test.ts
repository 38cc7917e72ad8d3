import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { beforeAll, describe, expect } from "vitest";
import { branchNamesClash, findBranchProblem, isBranchName } from "../../../src/git/rules/branch-name.ts";
import { count } from "../../counts.ts";
import { test } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";

const remotes = ["origin", "up", "team/fork"];

/** Names that git accepts for a branch, and by which it finds something else, or may. */
const hiding: readonly string[] = [
  ...[
    "FETCH_HEAD",
    "ORIG_HEAD",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REBASE_HEAD",
    "MY_HEAD",
    "feat/ORIG_HEAD",
  ],
  ...["head", "Head", "fetch_head", "Orig_Head", "stash", "Stash", "AUTO_MERGE", "BISECT_EXPECTED_REV"],
  ...["refs", "refs/x", "refs/heads/main", "refs/remotes/origin/main", "Refs/heads/main"],
  ...["heads/main", "heads/heads/main", "tags/v1.0", "remotes/origin/main", "notes/commits", "bisect/bad"],
  ...[
    "replace/x",
    "worktree/x",
    "main-worktree/HEAD",
    "worktrees/x/HEAD",
    "logs/HEAD",
    "logs/refs/heads/main",
  ],
  ...["origin", "origin/main", "origin/HEAD", "origin/new", "Origin/main", "up", "up/main"],
  ...["team/fork", "team/fork/main", "a".repeat(40), "0123456789ABCDEF".repeat(4)],
];

/** Names that mean nothing else. */
const harmless: readonly string[] = [
  ...["main", "feat/login", "release/1.2", "a@b", "swarm/fix-the-login-form", "chore/contributing"],
  ...[
    "swarm/0a1b2c/integration",
    "recovered/aimi-012345-012345-a",
    "feat/origin/main",
    "my-stash",
    "stashes",
  ],
  ...[
    "fix_head",
    "HEADS",
    "headline/x",
    "refs-x",
    "originals/x",
    "upper",
    "team",
    "team/other",
    "forks/origin",
  ],
  ...["tagged/x", "heads", "logs/parser", "a".repeat(39), "deadbeef", "WIP", "config", "feat/HEAD"],
];

/** What a repository has that was cloned, fetched, stashed, bisected and annotated in. */
function everythingIn(repository: string): { readonly there: string; readonly ours: string } {
  const made = (message: string): string =>
    git(
      repository,
      ...["-c", "user.name=T", "-c", "user.email=t@example.invalid"],
      ...["commit-tree", "HEAD^{tree}", "-m", message],
    ).trim();
  const [there, ours] = [made("theirs"), made("ours")];
  for (const ref of [
    ...["refs/stash", "refs/tags/v1.0", "refs/notes/commits", "refs/bisect/bad"],
    ...remotes.flatMap((remote) => [`refs/remotes/${remote}/main`, `refs/remotes/${remote}/new`]),
    ...["refs/worktree/x", "refs/heads/heads/main"],
  ])
    git(repository, "update-ref", "--create-reflog", ref, there);
  for (const remote of remotes)
    git(repository, "symbolic-ref", `refs/remotes/${remote}/HEAD`, `refs/remotes/${remote}/main`);
  for (const file of ["FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REBASE_HEAD", "MY_HEAD"])
    write(repository, `.git/${file}`, `${there}\n`);
  for (const file of ["AUTO_MERGE", "BISECT_EXPECTED_REV"]) write(repository, `.git/${file}`, `${there}\n`);
  return { there, ours };
}

/** Makes branches of these names, and says by which of them git finds something else, or is not sure. */
function misread(repository: string, names: readonly string[], ours: string): string[] {
  const input = (lines: readonly string[]) => `${lines.join("\n")}\n`;
  const update = (verb: (name: string) => string) => {
    const { status, stderr } = spawnSync("git", ["update-ref", "--stdin"], {
      ...{ cwd: repository, input: input(names.map(verb)), encoding: "utf8" },
    });
    expect(stderr).toBe("");
    expect(status).toBe(0);
  };
  update((name) => `update refs/heads/${name} ${ours}`);
  const asked = spawnSync("git", ["cat-file", "--batch-check=%(objectname)"], {
    ...{ cwd: repository, input: input(names), encoding: "utf8" },
  });
  update((name) => `delete refs/heads/${name}`);
  const found = asked.stdout.trimEnd().split("\n");
  expect(found).toHaveLength(names.length);
  return names.filter(
    (name, at) => found[at] !== ours || asked.stderr.includes(`refname '${name}' is ambiguous`),
  );
}

describe("names of branches by which git finds something else", () => {
  let generated: string[] = [];

  beforeAll(() => {
    const heads = [
      "origin",
      "up",
      "team/fork",
      "refs",
      "heads",
      "tags",
      "remotes",
      "notes",
      "bisect",
      "stash",
    ];
    const pieces = fc.constantFrom(
      ...[...heads, "logs", "worktree", "replace", "refs/heads", "refs/remotes/origin", "feat", "fix"],
      ...[
        "main",
        "HEAD",
        "FETCH_HEAD",
        "ORIG_HEAD",
        "MY_HEAD",
        "_HEAD",
        "commits",
        "bad",
        "v1",
        "new",
        "x",
        "@",
      ],
      ...[
        "a".repeat(40),
        "deadbeef",
        "AUTO_MERGE",
        "config",
        "main-worktree",
        "team",
        "fork",
        "1.2",
        "-",
        "_",
      ],
    );
    const joined = fc.tuple(
      fc.array(pieces, { minLength: 1, maxLength: 4 }),
      fc.constantFrom("/", "/", "", "-"),
    );
    generated = fc.sample(
      joined.map(([parts, between]) => parts.join(between)),
      { numRuns: Math.max(500, count.branchNames), seed: 1 },
    );
  });

  test.for(hiding)("%s is refused", (name) => {
    expect(isBranchName(name)).toBe(true);
    expect(findBranchProblem(name, remotes)).toMatch(/^(is a name that git|has the form of|begins with) /);
  });

  test.for(harmless)("%s is accepted", (name) => {
    expect(findBranchProblem(name, remotes)).toBeNull();
  });

  test.for(["", "-x", "a..b", "a.lock", "@", "HEAD", "a b", "a@{1}", "x\n"])(
    "%j is refused as before",
    (name) => {
      expect(findBranchProblem(name, remotes)).toBe("is not a name that git accepts for a branch");
    },
  );

  test("a remote counts only where it is one; origin always", () => {
    expect(findBranchProblem("up/main", [])).toBeNull();
    expect(findBranchProblem("team/fork/x", [])).toBeNull();
    expect(findBranchProblem("origin/main", [])).toMatch(/remote/);
  });

  test("of generated names, git finds the branch by each that is accepted", ({ repository }) => {
    const { ours } = everythingIn(repository);
    const accepted: string[] = [];
    for (const name of new Set([...harmless, ...generated]))
      if (
        findBranchProblem(name, remotes) === null &&
        !accepted.some((other) => branchNamesClash(other, name))
      )
        if (!branchNamesClash(name, "main") && !branchNamesClash(name, "heads/main")) accepted.push(name);

    expect(generated.length).toBeGreaterThanOrEqual(500);
    expect(accepted.length).toBeGreaterThan(40);
    expect(misread(repository, accepted, ours)).toEqual([]);
  });

  test("control: of those that are refused, git finds something else by each of these", ({ repository }) => {
    const { ours } = everythingIn(repository);
    const all = [
      ...["FETCH_HEAD", "ORIG_HEAD", "stash", "AUTO_MERGE", "origin/main", "up/main", "team/fork/new"],
      ...[
        "refs/remotes/origin/main",
        "tags/v1.0",
        "notes/commits",
        "bisect/bad",
        "logs/HEAD",
        "a".repeat(40),
      ],
    ];

    expect(all.every(isBranchName)).toBe(true);
    expect(misread(repository, all, ours)).toEqual(all);
  });
});
