import { readFileSync } from "node:fs";
import { readChangedEntries } from "../../../src/git/changed-entries.ts";
import { createGitObjectReader } from "../../../src/git/object-reader.ts";
import { peakMb } from "../machine/peak.ts";
import type { Pair, Reading } from "./generated-trees.ts";

/** Reads what differs between the trees of each pair, and says what that was and how much memory it took. */
const [repository = "", file = ""] = process.argv.slice(2);
const pairs: readonly Pair[] = JSON.parse(readFileSync(file, "utf8"));

const before = peakMb();
const readings: Reading[] = [];
await using objects = createGitObjectReader([], { folder: repository });
for (const { base, tip, limits } of pairs) {
  const seen: string[] = [];
  const unread = await readChangedEntries(objects, {
    ...{ base, tip, limits },
    onEntry: ({ mode, oldId, id, path }) => void seen.push(`${mode} ${oldId} ${id} ${path}`),
  });
  readings.push({ seen, why: unread?.why ?? null });
}
const addedMb = Math.round(peakMb() - before);
console.log(JSON.stringify({ readings, addedMb }));
