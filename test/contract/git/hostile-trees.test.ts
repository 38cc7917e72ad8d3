import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect } from "vitest";
import { defaultTreeReadLimits } from "../../../src/git/changed-entries.ts";
import type { ImportResult } from "../../../src/git/work-repository-port.ts";
import { importCommitsFromAdapter } from "../../../src/swarm/worker/import-commits.ts";
import { formatBytes } from "../../../src/text/duration-and-size.ts";
import { test } from "../../fakes/folders.ts";
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
} from "../../fakes/git/bundles.ts";
import { commitAsTester, expectTidy, head, headerOf, repositoryAt, workOf } from "../../fakes/git/work.ts";
import { said, startProgram } from "../../fakes/machine/processes.ts";
import { fakeSwarm } from "../../fakes/swarm/fake-swarm.ts";

commitAsTester();

/** What an owner may need above what it has at its start, for whatever a bundle holds. */
const maxMb = 64;

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
  readonly outcome: ImportResult;
  readonly addedMb: Readonly<Record<string, number>>;
}

/** What becomes of a bundle in a process of its own, and how much that process grows. */
async function weighed(repository: string, at: string, facts: object): Promise<Weighed> {
  const owner = startProgram(
    "git/weigh-take-in-process",
    join(repository, ".git"),
    at,
    JSON.stringify(facts),
  );
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
      const { bundle: _, ...facts } = workOf(bytes, { base, tip: idOf(made), maxBytes: 1024 ** 3 });

      const { outcome, addedMb } = await weighed(repository, at, facts);

      expect(outcome).toMatchObject({ kind: "refused", why });
      expect(Math.max(...Object.values(addedMb))).toBeLessThanOrEqual(maxMb);
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

test("the bounds are those that the docs name", () => {
  const { maxEntries, maxDepth, maxPathBytes, maxTotalPathBytes, maxTreeBytes } = defaultTreeReadLimits;
  const told = readFileSync(new URL("../../../docs/swarm.md", import.meta.url), "utf8").replace(/\s+/g, " ");

  for (const limit of [
    `at most ${maxEntries} files and folders, at most ${maxDepth} folders deep`,
    `may have ${maxPathBytes} bytes each, and ${formatBytes(maxTotalPathBytes)} in all`,
    `trees of the changed folders may have ${formatBytes(maxTreeBytes)} in all`,
  ])
    expect(told).toContain(limit);
});

describe("work that is as large as may be", () => {
  for (const [what, make] of large)
    test(`is taken in and looked at, and its owner hardly grows: ${what}`, async ({ repository, folder }) => {
      const base = head(repository);
      const trees = make();
      const made = commit(idOf(trees[0] ?? content), [base]);
      const bytes = bundleOf(headerOf(base, idOf(made)), packOf([content, ...trees, made]));
      const at = join(folder, "hostile.bundle");
      writeFileSync(at, bytes);
      const { bundle: _, ...facts } = workOf(bytes, { base, tip: idOf(made), maxBytes: 1024 ** 3 });

      const { outcome, addedMb } = await weighed(repository, at, facts);

      expect(outcome).toMatchObject({ kind: "taken" });
      expect(Math.max(...Object.values(addedMb))).toBeLessThanOrEqual(maxMb);
      expectTidy(repository);
    }, 60_000);
});

describe("one worker's bundle", () => {
  test.for([
    ["what counts", null],
    ["unfinished work", "US-001"],
  ] as const)(
    "that is refused is its own failure and no other's: %s",
    async ([, failedStory], { repository }) => {
      const base = head(repository);
      const ref = failedStory === null ? "refs/heads/feat/one" : `refs/aimi/failed/${failedStory}`;
      const bundleWith = (trees: readonly RawObject[]): { bytes: Buffer; tip: string } => {
        const made = commit(idOf(trees[0] ?? content), [base]);
        const header = headerOf(base, idOf(made)).replace("refs/heads/work", ref);
        return { bytes: bundleOf(header, packOf([content, ...trees, made])), tip: idOf(made) };
      };
      const collected = async (slug: string, { bytes, tip }: ReturnType<typeof bundleWith>) => {
        const swarm = fakeSwarm([{ slug }]);
        Object.assign(swarm.deps.repository, { work: repositoryAt(repository) });
        Object.assign(swarm.deps.channel, { readFile: () => Readable.from([bytes]) });
        const name = swarm.nameOf(slug);
        await swarm.deps.store.change(name, (record) => ({ ...record, branchName: "feat/one" }));
        const worker = { name, slug, base, request: {} } as Parameters<typeof importCommitsFromAdapter>[1];
        const sha256 = createHash("sha256").update(bytes).digest("hex");
        const stored = { commit: tip, bundle: "/aimi/out/x", bytes: bytes.length, sha256 };
        return importCommitsFromAdapter(swarm.deps, worker, { ...stored, containerId: "c", failedStory });
      };

      const [failure, none] = await Promise.all([
        collected("deep", bundleWith(nested(300, "d", files(1)))),
        collected("good", bundleWith(nested(200, "d", files(1)))),
      ]);

      expect(failure).toEqual({
        code: "COLLECT_FAILED",
        message: "the commit's folders are nested more than 200 levels deep",
      });
      expect(none).toBeNull();
    },
  );
});

test("of more files that conflict than fit into an answer, some are told, and no merge is made", async ({
  repository,
}) => {
  const version = (letter: string): { objects: RawObject[]; id: string } => {
    const changed = blob(letter);
    const rows = files(5_000, 250).map(([mode, name]): TreeRows[number] => [mode, name, idOf(changed)]);
    const all = treeOf(rows);
    return { objects: [changed, all], id: idOf(all) };
  };
  const [was, one, other] = [version("a"), version("b"), version("c")];
  const base = commit(was.id, []);
  const [ours, theirs] = [commit(one.id, [idOf(base)]), commit(other.id, [idOf(base)])];
  const pack = packOf([...was.objects, ...one.objects, ...other.objects, base, ours, theirs]);
  execFileSync("git", ["index-pack", "--stdin"], {
    cwd: repository,
    input: pack,
    stdio: ["pipe", "ignore", "inherit"],
  });
  const commits = { ours: idOf(ours), theirs: idOf(theirs), message: "Merge" };

  const merged = await repositoryAt(repository).merge(commits);

  expect(merged).toMatchObject({ kind: "conflict" });
  expect(merged.kind === "conflict" ? merged.files.length : 0).toBe(1_000);
}, 60_000);
