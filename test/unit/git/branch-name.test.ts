import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isBranchName } from "../../../src/git/rules/branch-name.ts";
import { count } from "../../counts.ts";

function gitAccepts(name: string): boolean {
  return spawnSync("git", ["check-ref-format", "--branch", name]).status === 0;
}

describe("names of branches", () => {
  test.each(["main", "feat/login", "release/1.2", "a@b", "ümlaut", "x.y.z", "a-b_c", "日本"])(
    "%s is one, and git says so",
    (name) => {
      expect(isBranchName(name)).toBe(true);
      expect(gitAccepts(name)).toBe(true);
    },
  );

  test.each([
    ...[
      "",
      "-x",
      "--output=x",
      "a b",
      "a..b",
      "a.lock",
      "a/.b",
      "/a",
      "a/",
      "a//b",
      "a~1",
      "a^",
      "a:b",
      "a?b",
      "a*",
      "a[b",
      "a\\b",
    ],
    ...[
      "a\nb",
      "a\u0000b".replace("\u0000", "\u0001"),
      "a\u007f",
      "@",
      "a@{b",
      "a.",
      ".a",
      "a/b.lock/c",
      "HEAD",
    ],
  ])("%j is none", (name) => {
    expect(isBranchName(name)).toBe(false);
  });

  test("whatever we accept, git accepts; whatever we refuse, git refuses or takes for a flag or for HEAD", () => {
    const pieces = fc.constantFrom(
      "a",
      "B",
      "1",
      "/",
      ".",
      "..",
      "-",
      "_",
      "@",
      "{",
      "~",
      "^",
      ":",
      "?",
      "*",
      "[",
      "\\",
      " ",
      ".lock",
      "é",
      "\t",
      "$(x)",
      ";",
      "`",
      "'",
    );
    const names = fc.array(pieces, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(names, (name) => {
        // Git expands `@` and `@{-1}` before it looks; we refuse both.
        const ours = isBranchName(name);
        expect(ours).toBe(gitAccepts(name) && !name.startsWith("-") && !name.includes("@{") && name !== "@");
      }),
      { numRuns: count.branchNames },
    );
  }, 120_000);
});
