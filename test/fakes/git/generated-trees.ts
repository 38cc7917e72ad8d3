import { execFileSync } from "node:child_process";
import type { TreeReadLimits, UnreadReason } from "../../../src/git/changed-entries.ts";
import type { Chance } from "../chance.ts";
import { idOf, packOf, type RawObject, type TreeRows, treeOf } from "./bundles.ts";

/** What lies in a folder: folders, and whatever else git calls a file. */
type Folder = Map<string, Folder | { readonly mode: string; readonly id: string }>;

/** Two trees that are to be compared, within these limits. */
export interface Pair {
  readonly base: string;
  readonly tip: string;
  readonly limits: TreeReadLimits;
}

export interface Generated {
  readonly pairs: readonly Pair[];
  readonly objects: ReadonlyMap<string, RawObject>;
}

/** What comes of reading a pair: the files that are told of, and why no more of them. */
export interface Reading {
  readonly seen: readonly string[];
  readonly why: UnreadReason["why"] | null;
}

const names = ["a", "a.b", "a-", "a0", "A", "b c", "é", "日本", "line\nfeed", ".git_", "n".repeat(40)];
const modes = ["100644", "100755", "120000", "160000"];

/** Trees of all shapes, each with a change of it. */
export function generateTrees(chance: Chance, count: number): Generated {
  const objects = new Map<string, RawObject>();
  const pairs = Array.from({ length: count }, (): Pair => {
    const was = grown(chance, 0);
    const now = chance.below(20) === 0 ? grown(chance, 0) : changed(chance, was);
    return { base: stored(objects, was), tip: stored(objects, now), limits: limitsBy(chance) };
  });
  return { pairs, objects };
}

/** Mostly so tight that some of the trees pass, and now and then so wide that all do. */
function limitsBy(chance: Chance): TreeReadLimits {
  const limit = (...some: readonly number[]): number => chance.pick([...some, 1_000_000]);
  return {
    ...{ maxEntries: limit(3, 10, 30), maxDepth: limit(0, 1, 3, 6), maxPathBytes: limit(5, 20, 80) },
    ...{ maxTotalPathBytes: limit(20, 100, 500), maxTreeBytes: limit(100, 500, 2_000) },
  };
}

function grown(chance: Chance, depth: number): Folder {
  const folder: Folder = new Map();
  // A few are wide, and a few are deep and narrow.
  const width = chance.below(30) === 0 ? 60 : chance.below(5);
  for (let at = 0; at < width; at += 1) put(chance, folder, depth);
  if (depth < 12 && chance.below(3) === 0) folder.set(chance.pick(names), grown(chance, depth + 1));
  return folder;
}

function put(chance: Chance, folder: Folder, depth: number): void {
  const name = `${chance.pick(names)}${chance.below(4) === 0 ? chance.below(100) : ""}`;
  const isFolder = depth < 6 && chance.below(3) === 0;
  folder.set(name, isFolder ? grown(chance, depth + 1) : someFile(chance));
}

function someFile(chance: Chance): { readonly mode: string; readonly id: string } {
  return { mode: chance.pick(modes), id: String(chance.below(10)).repeat(40).replaceAll("0", "a") };
}

/** The same with some of it gone, new, other, or a folder in place of a file. */
function changed(chance: Chance, was: Folder): Folder {
  const now: Folder = new Map();
  for (const [name, item] of was) {
    const what = chance.below(10);
    if (what === 0) continue;
    if (what === 1) now.set(name, item instanceof Map ? someFile(chance) : grown(chance, 5));
    else if (item instanceof Map) now.set(name, what < 6 ? changed(chance, item) : item);
    else now.set(name, what < 5 ? someFile(chance) : item);
  }
  if (chance.below(3) === 0) put(chance, now, 3);
  return now;
}

function stored(objects: Map<string, RawObject>, folder: Folder): string {
  const rows = [...folder].map(([name, item]): TreeRows[number] =>
    item instanceof Map ? ["40000", name, stored(objects, item)] : [item.mode, name, item.id],
  );
  const place = ([mode, name]: TreeRows[number]): Buffer => Buffer.from(mode === "40000" ? `${name}/` : name);
  const tree = treeOf(rows.sort((one, other) => Buffer.compare(place(one), place(other))));
  const id = idOf(tree);
  objects.set(id, tree);
  return id;
}

/** Puts all of them into a repository. */
export function storeTrees(repository: string, { objects }: Generated): void {
  execFileSync("git", ["index-pack", "--stdin"], {
    ...{ cwd: repository, input: packOf([...objects.values()]), stdio: ["pipe", "ignore", "inherit"] },
  });
}

interface Row {
  readonly path: string;
  readonly modes: readonly string[];
  readonly ids: readonly string[];
}

/** What git itself and the limits say of each pair: as a list of everything, judged from its beginning. */
export function expectedReadings(repository: string, { pairs, objects }: Generated): Reading[] {
  const rows = rowsByGit(repository, pairs);
  return pairs.map((pair, at) => judged(pair, rows[at] ?? [], objects));
}

function judged({ base, tip, limits }: Pair, rows: readonly Row[], objects: Generated["objects"]): Reading {
  const seen: string[] = [];
  const sizeOf = (id: string): number => objects.get(id)?.bytes.length ?? 0;
  let [entries, bytesOfPaths, treeBytes] = [0, 0, 0];
  const looked = (depth: number, ids: readonly string[]): UnreadReason["why"] | null => {
    if (depth > limits.maxDepth) return "too-deep";
    for (const id of ids) treeBytes += sizeOf(id);
    return treeBytes > limits.maxTreeBytes ? "too-many" : null;
  };
  let why = base === tip ? null : looked(0, [base, tip]);
  for (const { path, modes: both, ids } of rows) {
    if (why !== null) break;
    const bytes = Buffer.byteLength(path);
    entries += 1;
    bytesOfPaths += bytes;
    if (entries > limits.maxEntries) why = "too-many";
    else if (bytes > limits.maxPathBytes || bytesOfPaths > limits.maxTotalPathBytes) why = "too-long";
    else if (both.includes("040000"))
      why = looked(
        path.split("/").length,
        ids.filter((_, at) => both[at] === "040000"),
      );
    else seen.push(`${both[1]} ${ids.join(" ")} ${path}`);
  }
  return { seen, why };
}

/** What differs, folders before what is in them, for each pair. */
function rowsByGit(repository: string, pairs: readonly Pair[]): Row[][] {
  const output = execFileSync(
    "git",
    ["diff-tree", "--stdin", "-r", "-t", "-z", "--raw", "--no-renames", "--no-abbrev"],
    {
      ...{ cwd: repository, encoding: "utf8", maxBuffer: 1024 ** 3 },
      input: pairs.map(({ base, tip }) => `${base} ${tip}\n`).join(""),
    },
  );
  const found: Row[][] = [];
  const tokens = output.split("\0");
  for (let at = 0; at < tokens.length; at += 2) {
    const [, heads = "", facts = ""] =
      /^((?:[0-9a-f]{40} [0-9a-f]{40}\n)*)(.*)$/.exec(tokens[at] ?? "") ?? [];
    for (let head = 0; head < heads.length; head += 82) found.push([]);
    const [, was = "", now = "", oldId = "", id = ""] = /^:(\d+) (\d+) (\w+) (\w+) /.exec(facts) ?? [];
    if (facts !== "") found.at(-1)?.push({ path: tokens[at + 1] ?? "", modes: [was, now], ids: [oldId, id] });
  }
  return found;
}
