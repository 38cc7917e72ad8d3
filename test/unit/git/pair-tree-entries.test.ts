import { expect, test } from "vitest";
import { type GitTreeEntry, pairTreeEntries } from "../../../src/git/pair-tree-entries.ts";

type Row = readonly [mode: string, name: string, id: number];

test("names that both trees have come together, in git's own order", () => {
  const was = tree(["100644", "a", 1], ["40000", "b", 2], ["100644", "c", 3]);
  const now = tree(["100644", "a", 1], ["40000", "b", 9], ["100755", "c", 3]);

  expect(shown(was, now)).toEqual([
    "100644 a 1 | 100644 a 1",
    "040000 b 2 | 040000 b 9",
    "100644 c 3 | 100755 c 3",
  ]);
});

test("what only one of them has stands alone", () => {
  expect(shown(tree(["100644", "a", 1]), tree(["100644", "b", 2]))).toEqual([
    "100644 a 1 | ",
    " | 100644 b 2",
  ]);
  expect(shown(tree(), tree(["100644", "b", 2]))).toEqual([" | 100644 b 2"]);
  expect(shown(tree(), tree())).toEqual([]);
});

test("a file that became a folder is gone, and the folder is new", () => {
  const was = tree(["100644", "a", 1], ["100644", "a.b", 2]);
  const now = tree(["100644", "a.b", 2], ["40000", "a", 3]);

  expect(shown(was, now)).toEqual(["100644 a 1 | ", "100644 a.b 2 | 100644 a.b 2", " | 040000 a 3"]);
  expect(shown(tree(["100644", "a", 1]), tree(["40000", "a", 3]))).toEqual([
    "100644 a 1 | ",
    " | 040000 a 3",
  ]);
});

test("a folder stands where its name with a slash would", () => {
  const both = tree(["100644", "a-", 1], ["40000", "a", 2], ["100644", "a0", 3]);

  expect(shown(both, both)).toHaveLength(3);
});

test("every entry is shown, wherever a tree that git did not write has put it", () => {
  const was = tree(["100644", "a", 1], ["100644", "b", 2], ["100644", "c", 3]);
  const now = tree(["100644", "c", 3], ["100644", "a", 1], ["100644", "b", 7], ["100644", "b", 8]);
  const rows = shown(was, now);

  for (const entry of ["c 3", "a 1", "b 7", "b 8"])
    expect(rows.filter((row) => row.split(" | ")[1]?.endsWith(entry))).toHaveLength(1);
});

test("a name may be any bytes", () => {
  const name = Buffer.from([0xff, 0x20, 0x0a, 0x31]).toString("latin1");

  expect([...pairTreeEntries(tree(), tree(["100644", name, 1]))][0]?.[1]?.name()).toBe("\ufffd \n1");
});

test("a tree that ends too early is no tree", () => {
  expect(() => shown(tree(), tree(["100644", "a", 1]).subarray(0, -1))).toThrow("malformed tree");
  expect(() => shown(tree(), Buffer.from("100644"))).toThrow("malformed tree");
});

function tree(...rows: readonly Row[]): Buffer {
  return Buffer.concat(
    rows.flatMap(([mode, name, id]) => [Buffer.from(`${mode} ${name}\0`, "latin1"), Buffer.alloc(20, id)]),
  );
}

function shown(was: Buffer, now: Buffer): string[] {
  const text = (row: GitTreeEntry | null): string =>
    row ? `${row.mode} ${row.name()} ${Number.parseInt(row.id().slice(0, 2), 16)}` : "";
  return [...pairTreeEntries(was, now)].map(([old, entry]) => `${text(old)} | ${text(entry)}`);
}
