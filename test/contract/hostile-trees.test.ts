import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { TakenIn } from "../../src/ports/work-repository.ts";
import {
  blob,
  bundleOf,
  commit,
  idOf,
  packOf,
  type RawObject,
  type TreeRows,
  tree,
  treeOf,
} from "../fakes/bundles.ts";
import { test } from "../fakes/folders.ts";
import { said, startProgram } from "../fakes/processes.ts";
import { commitAsTester, expectTidy, head, headerOf, workOf } from "../fakes/work.ts";

commitAsTester();

/** What an owner may need above what it has at its start, for whatever a bundle holds. */
const mostMb = 64;

const content = blob("x");
const file = idOf(content);

const files = (count: number, length = 6): TreeRows =>
  Array.from({ length: count }, (_, at) => ["100644", String(at).padStart(length, "0"), file]);

/** Folders in one another, the last with these entries. */
function nested(depth: number, name: string, last: TreeRows): RawObject[] {
  const levels = [treeOf(last)];
  for (let level = 0; level < depth; level += 1)
    levels.unshift(tree(["40000", name, idOf(levels[0] ?? content)]));
  return levels;
}

interface Weighed {
  readonly outcome: TakenIn;
  readonly addedMb: Readonly<Record<string, number>>;
}

/** What becomes of a bundle in a process of its own, and how much that process grows. */
async function weighed(repository: string, at: string, facts: object): Promise<Weighed> {
  const owner = startProgram("weigh-take-in-process", join(repository, ".git"), at, JSON.stringify(facts));
  const text = await said(owner);
  return JSON.parse(text) as Weighed;
}

const bombs: readonly [what: string, why: string, make: () => RawObject[]][] = [
  [
    "20 000 files below 190 folders of long names",
    "too-long",
    () => nested(190, "n".repeat(250), files(20_000)),
  ],
  [
    "90 000 files below 190 folders of long names",
    "too-long",
    () => nested(190, "n".repeat(250), files(90_000)),
  ],
  ["600 000 files in one folder", "too-many", () => [treeOf(files(600_000))]],
  ["a folder whose list is as long as may be", "too-long", () => [treeOf(files(99_000, 180))]],
  ["a folder whose list is longer than may be", "too-many", () => [treeOf(files(120_000, 220))]],
  ["one name of eight megabytes", "too-long", () => [tree(["100644", "n".repeat(8_000_000), file])]],
  ["300 folders in one another", "too-deep", () => nested(300, "d", files(1))],
];

describe("a bundle of a hostile tree", () => {
  for (const [what, why, make] of bombs)
    test(`is refused as ${why}, and its owner hardly grows: ${what}`, async ({ repository, folder }) => {
      const base = head(repository);
      const trees = make();
      const made = commit(idOf(trees[0] ?? content), [base]);
      const bytes = bundleOf(headerOf(base, idOf(made)), packOf([content, ...trees, made]));
      const at = join(folder, "hostile.bundle");
      writeFileSync(at, bytes);
      const { bundle: _, ...facts } = workOf(bytes, { base, tip: idOf(made), mostBytes: 1024 ** 3 });

      const { outcome, addedMb } = await weighed(repository, at, facts);

      expect(outcome).toMatchObject({ kind: "refused", why });
      expect(Math.max(...Object.values(addedMb))).toBeLessThanOrEqual(mostMb);
      expectTidy(repository);
    }, 60_000);
});

/** A folder for each name, with the same in it. */
const folders = (count: number, inner: RawObject): TreeRows =>
  Array.from({ length: count }, (_, at) => ["40000", String(at).padStart(6, "0"), idOf(inner)]);

const one = (name: string, mode = "100644"): RawObject => tree([mode, name, file]);
const links: TreeRows = files(99_000).map(([, name]) => ["120000", name, file]);
const upwards = blob("../../x");
const json = blob(`{"scripts":{${Array.from({ length: 20_000 }, (_, at) => `"${at}":{}`).join()}}}`);
const shallow = one("Dockerfile");
const scripts = tree(["100644", "package.json", idOf(json)]);
const tests = blob(Array.from({ length: 60_000 }, (_, at) => `it("${at}",`).join("\n"));
const manyTests: TreeRows = files(40).map(([mode, name]) => [mode, `${name}.test.ts`, idOf(tests)]);

const large: readonly [what: string, make: () => RawObject[]][] = [
  ["99 000 files in one folder", () => [treeOf(files(99_000))]],
  ["99 000 links", () => [treeOf(links)]],
  [
    "99 000 links that lead out",
    () => [treeOf(links.map(([mode, name]) => [mode, name, idOf(upwards)])), upwards],
  ],
  ["49 000 folders with a Dockerfile", () => [treeOf(folders(49_000, shallow)), shallow]],
  ["300 folders with a manifest", () => [treeOf(folders(300, scripts)), scripts, json]],
  ["4 000 paths as long as can be", () => nested(15, "n".repeat(250), files(4_000, 200))],
  ["millions of lines of tests", () => [treeOf(manyTests), tests]],
];

describe("work that is as large as may be", () => {
  for (const [what, make] of large)
    test(`is taken in and looked at, and its owner hardly grows: ${what}`, async ({ repository, folder }) => {
      const base = head(repository);
      const trees = make();
      const made = commit(idOf(trees[0] ?? content), [base]);
      const bytes = bundleOf(headerOf(base, idOf(made)), packOf([content, ...trees, made]));
      const at = join(folder, "hostile.bundle");
      writeFileSync(at, bytes);
      const { bundle: _, ...facts } = workOf(bytes, { base, tip: idOf(made), mostBytes: 1024 ** 3 });

      const { outcome, addedMb } = await weighed(repository, at, facts);

      expect(outcome).toMatchObject({ kind: "taken" });
      expect(Math.max(...Object.values(addedMb))).toBeLessThanOrEqual(mostMb);
      expectTidy(repository);
    }, 60_000);
});
