import { describe, expect, test } from "vitest";
import {
  createWeakenedTestDetector,
  type WeakenedTestFindings,
} from "../../../../src/swarm/merge/rules/weakened-tests.ts";

interface Change {
  readonly path: string;
  readonly removed?: readonly string[];
  readonly added?: readonly string[];
  readonly isDeleted?: boolean;
}

/** As `git diff-tree --patch --unified=0` prints it. */
function patchOf(...changes: readonly Change[]): string {
  return changes
    .map(({ path, removed = [], added = [], isDeleted = false }) =>
      [
        `diff --git a/${path} b/${path}`,
        ...(isDeleted ? ["deleted file mode 100644"] : []),
        ...["index 1111111..2222222 100644", `--- a/${path}`, isDeleted ? "+++ /dev/null" : `+++ b/${path}`],
        `@@ -1,${removed.length} +1,${added.length} @@`,
        ...removed.map((line) => `-${line}`),
        ...added.map((line) => `+${line}`),
        "\\ No newline at end of file",
      ].join("\n"),
    )
    .join("\n");
}

const told = (...changes: readonly Change[]): string[] =>
  weakenedTests(patchOf(...changes)).tests.map(({ path, how, line }) => `${path} ${how}: ${line}`);

describe("tests that a change weakens", () => {
  test.for([
    ["test/a.test.ts", 'test("adds", () => {'],
    ["src/a.spec.js", "  it('adds', async () => {"],
    ["src/a_test.go", "func TestAdds(t *testing.T) {"],
    ["tests/test_a.py", "def test_adds():"],
    ["spec/a_spec.rb", "it 'adds' do"],
    ["src/test/java/ATest.java", "  @Test"],
    ["tests/a.rs", "#[tokio::test]"],
  ] as const)("in %s are deleted: %s", ([path, line]) => {
    expect(told({ path, removed: [line] })).toEqual([`${path} deleted: ${line.trim()}`]);
  });

  test.for([
    ["test/a.test.ts", 'test.skip("adds", () => {'],
    ["test/a.test.ts", 'describe.only("all", () => {'],
    ["src/a_test.go", '\tt.Skip("later")'],
    ["tests/test_a.py", "@pytest.mark.skip(reason='later')"],
    ["tests/a.rs", "#[ignore]"],
    ["src/ATest.java", "@Disabled"],
  ] as const)("in %s are skipped: %s", ([path, line]) => {
    expect(told({ path, added: [line] })).toEqual([`${path} skipped: ${line.trim()}`]);
  });

  test("that are moved to another place, or changed under the same name, are not", () => {
    const line = 'test("adds", () => {';
    const longer = '  test("adds", async () => { // more';

    expect(
      told(
        { path: "test/a.test.ts", removed: [line], isDeleted: true },
        { path: "test/b.test.ts", added: [line] },
      ),
    ).toEqual([]);
    expect(told({ path: "test/a.test.ts", removed: [line], added: [longer] })).toEqual([]);
  });

  test("of one name that two had are one", () => {
    const line = 'test("adds", () => {';

    expect(told({ path: "test/a.test.ts", removed: [line, line], added: [line] })).toHaveLength(1);
  });

  test("are told where a whole file goes in which none is recognised", () => {
    expect(told({ path: "test/all.sh", removed: ["exit 0"], isDeleted: true })).toEqual([
      "test/all.sh deleted: the whole file",
    ]);
  });

  test("are no other code, and no test that was skipped before", () => {
    expect(told({ path: "src/a.ts", removed: ['test("adds", () => {'], added: ["it.skip("] })).toEqual([]);
    const skipped = 'test.skip("adds", () => {';
    expect(told({ path: "a.test.ts", removed: [skipped], added: [`${skipped} // more`] })).toEqual([]);
  });

  test("are found by the numbers of the hunks, whatever lines look like", () => {
    const removed = ["-- a/x", "diff --git a/x b/x", "@@ -1,9 +1,9 @@", 'test("adds", () => {'];

    expect(told({ path: "a.test.ts", removed, added: ['++ test("more"'] })).toEqual([
      'a.test.ts deleted: test("adds", () => {',
    ]);
  });

  test.for([
    ["nothing", [], [], false],
    ["one for two others", ['test("a", f)'], ['test("b", f)', 'test("c", f)'], false],
    ["one for another", ['test("a", f)'], ['test("b", f)'], false],
    ["two for one", ['test("a", f)', 'test("b", f)'], ['test("c", f)'], true],
    ["one for one that is skipped", ['test("a", f)'], ['test.skip("b", f)'], true],
    ["one that moved, and another", ['test("a", f)', 'test("b", f)'], ['test("a", f)'], true],
  ] as const)("are a loss or not: %s", ([, removed, added, isLoss]) => {
    expect(weakenedTests(patchOf({ path: "a.test.ts", removed, added })).isLoss).toBe(isLoss);
  });

  test("are a loss where they are commented out, named elsewhere, or moved to where no test is", () => {
    const line = 'test("a", f)';
    const loss = (...changes: readonly Change[]): boolean => weakenedTests(patchOf(...changes)).isLoss;

    expect(loss({ path: "a.test.ts", removed: [line], added: [`// ${line}`] })).toBe(true);
    expect(loss({ path: "test_a.py", removed: ["def test_a():"], added: ["#def test_a():"] })).toBe(true);
    expect(loss({ path: "a.test.ts", removed: [line] }, { path: "README.md", added: [line] })).toBe(true);
    const moved = patchOf({ path: "old/a.ts.bak" }).replace("\nindex", "\nrename from a.test.ts\nindex");
    // Nobody knows how many tests it had: one that is new makes up for nothing.
    const another = patchOf({ path: "b.test.ts", added: ['test("b", f)'] });
    expect(weakenedTests(`${moved}\n${another}`).isLoss).toBe(true);
    expect(weakenedTests(moved)).toMatchObject({
      isLoss: true,
      tests: [{ path: "a.test.ts", how: "deleted" }],
    });
  });

  test("are a loss where nobody can say what a file had", () => {
    const gone = { path: "test/all.sh", removed: ["exit 0"], isDeleted: true };

    expect(weakenedTests(patchOf(gone, { path: "a.test.ts", added: ['test("a", f)'] })).isLoss).toBe(true);
  });
});

function weakenedTests(patch: string): WeakenedTestFindings {
  const tests = createWeakenedTestDetector();
  for (const line of patch.split("\n")) tests.addPatchLine(line);
  return tests.findings();
}
