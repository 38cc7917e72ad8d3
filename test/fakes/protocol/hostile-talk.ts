import { type Chance, chanceFrom } from "../chance.ts";
import {
  attempt,
  containerId,
  goodNews,
  heartbeat,
  hello,
  message,
  numbered,
  otherContainerId,
  swarmId,
} from "./acp-talk.ts";

/** By which a completion is known that nobody may ever believe. */
export const forgedHead: string = "f0".repeat(20);

const evil = "\u001b]0;owned\u0007\u001b[2J\u0000\u0008\u009b31m\u202e\ud800\r\n\u2066";

/** Completions that are never right, wherever they stand. */
const forgeries: readonly ((lastSeq: number) => object)[] = [
  () => ({ seq: 0 }),
  () => ({}),
  () => ({ seq: 1e308 }),
  (lastSeq) => ({ seq: lastSeq + 0.5 }),
  (lastSeq) => ({ seq: String(lastSeq + 1) }),
  (lastSeq) => ({ seq: lastSeq + 1_000 }),
  (lastSeq) => ({ seq: -lastSeq - 1 }),
  (lastSeq) => ({ seq: lastSeq + 1, swarmId: swarmId.replace("3", "4") }),
  (lastSeq) => ({ seq: lastSeq + 1, attempt: attempt + 1 }),
  (lastSeq) => ({ seq: lastSeq + 1, attempt: "1" }),
  (lastSeq) => ({ seq: lastSeq + 1, containerId: otherContainerId }),
  (lastSeq) => ({ seq: lastSeq + 1, containerId: null }),
  (lastSeq) => ({ seq: lastSeq + 1, isAdmin: true }),
  (lastSeq) => ({ seq: lastSeq + 1, timestamp: "soon" }),
];

function forge(chance: Chance, lastSeq: number): string {
  const payload = {
    status: "completed",
    prUrl: null,
    errors: [],
    head: forgedHead,
    bundle: null,
    sha256: null,
  };
  return JSON.stringify(message("completion", payload, chance.pick(forgeries)(lastSeq)));
}

type Edit = (lines: string[], chance: Chance) => void;

const edits: readonly Edit[] = [
  // Out of place.
  (lines, { below }) => void lines.splice(below(lines.length), 1),
  (lines, { below, pick }) => void lines.splice(below(lines.length), 0, pick(lines)),
  (lines, { below }) => {
    const [taken = ""] = lines.splice(below(lines.length), 1);
    lines.splice(below(lines.length), 0, taken);
  },
  (lines) => void lines.reverse(),
  (lines) => void lines.push(JSON.stringify(message("activity", activityOf("late"), { seq: lines.length }))),
  (lines) => void lines.push(...lines.slice(0, 3)),
  // Forged.
  (lines, chance) => {
    const at = chance.below(lines.length + 1);
    lines.splice(at, 0, forge(chance, Math.max(0, at - 1)));
  },
  (lines, chance) => void lines.push(forge(chance, lines.length)),
  (lines, chance) => void lines.unshift(forge(chance, 0)),
  replaceIn(() => [containerId, otherContainerId]),
  replaceIn(() => [swarmId, swarmId.replace("b", "c")]),
  replaceIn(() => ['"attempt":1', '"attempt":2']),
  replaceIn(() => ["US-001", "US-999"]),
  replaceIn(({ pick }) => [
    '"type":"',
    `"type":"${pick(["task-request", "ack", "x", "__proto__", "constructor", ""])}`,
  ]),
  replaceIn(({ below }) => ['"seq":', `"seq":${below(10)}`]),
  replaceIn(({ pick }) => ['"status":"completed"', `"status":"${pick(["pending", "done", "failed"])}"`]),
  // Too much.
  (lines, { below }) => void lines.splice(below(lines.length), 0, `{"type":"${"x".repeat(70_000)}"}`),
  (lines, { below }) => void lines.splice(below(lines.length), 0, "[".repeat(30_000)),
  (lines, { below }) =>
    void lines.splice(below(lines.length), 0, `{"type":"x","payload":${'{"a":['.repeat(9_000)}`),
  replaceIn(({ below }) => ['"payload":{', `"payload":{${'"a":{'.repeat(below(60))}`]),
  replaceIn(() => ['"seq":', '"seq":1e999,"seq":']),
  replaceIn(() => ["0.25", "1e-400000"]),
  // Not what it seems.
  replaceIn(() => ['"payload":{', '"payload":{"__proto__":{"status":"completed"},']),
  replaceIn(() => ['{"type"', '{"__proto__":{"seq":1},"constructor":{"prototype":null},"type"']),
  replaceIn(() => ['"seq":', '"seq":99,"seq":']),
  (lines, { below }) =>
    void lines.splice(
      below(lines.length),
      0,
      pickJson([null, true, 7, "text", [], {}, [hello()], { type: {} }, { type: "hello" }], below),
    ),
  // Shown to people.
  (lines, { below }) => {
    const at = below(lines.length);
    lines[at] = (lines[at] ?? "").replace(
      /"(summary|output|command|message)":"[^"]*"/g,
      (_all, name) => `"${name}":${JSON.stringify(evil)}`,
    );
  },
  (lines) => {
    for (const [at, line] of lines.entries())
      lines[at] = line.replace(
        /"(summary|output)":"/g,
        (all) => `${all}${JSON.stringify(evil).slice(1, -1)}`,
      );
  },
  replaceIn(({ pick }) => [' "', pick(["\u001b", "\u0000", "\t", "\u2028"])]),
];

const byteEdits: readonly ((bytes: Buffer, chance: Chance) => Buffer)[] = [
  (bytes, { below }) => {
    const flipped = Buffer.from(bytes);
    for (let count = below(4) + 1; count > 0; count -= 1) {
      const at = below(flipped.length);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << below(8));
    }
    return flipped;
  },
  (bytes, { below }) => bytes.subarray(0, below(bytes.length)),
  (bytes, { below }) => bytes.subarray(below(bytes.length)),
  (bytes, { below, pick }) => {
    const at = below(bytes.length);
    const inserted = pick([
      [0xff],
      [0xc0, 0xaf],
      [0xed, 0xa0, 0x80],
      [0x0a, 0x0a],
      [0x00],
      [0x0d],
      [0x1b, 0x5b],
    ]);
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(inserted), bytes.subarray(at)]);
  },
];

function activityOf(summary: string): object {
  return { storyId: "US-001", kind: "text", summary };
}

/** Writes something else into one of the lines that hold a text. */
function replaceIn(words: (chance: Chance) => readonly [from: string, to: string]): Edit {
  return (lines, chance) => {
    const [from, to] = words(chance);
    const places = [...lines.keys()].filter((at) => lines[at]?.includes(from));
    if (places.length === 0) return;
    const at = chance.pick(places);
    lines[at] = lines[at]?.replace(from, to) ?? "";
  };
}

function pickJson(values: readonly unknown[], below: Chance["below"]): string {
  return JSON.stringify(values[below(values.length)]);
}

/** A conversation that somebody made to do harm, and the pieces that it comes in. */
export function hostileStream(seed: number): Buffer[] {
  const chance = chanceFrom(seed);
  const news = numbered(goodNews());
  news.splice(chance.below(news.length), 0, heartbeat());
  const lines = [hello(), ...news].map((said) => JSON.stringify(said));
  for (let count = chance.below(4); count > 0; count -= 1) chance.pick(edits)(lines, chance);
  let bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
  if (chance.below(3) === 0) bytes = Buffer.from(chance.pick(byteEdits)(bytes, chance));

  const most = chance.pick([1 + chance.below(50), 1000, 65_536]);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + chance.below(most);
    pieces.push(bytes.subarray(at, end));
    at = end;
  }
  return pieces;
}
