import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { receiveMessages } from "../../../src/protocol/receive-messages.ts";
import { isJournalledMessage } from "../../../src/protocol/rules/protocol-messages.ts";
import { findAdapterMessageProblem as findProblem } from "../../../src/schema/find-message-problem.ts";
import { jsonLines } from "../../../src/wire/text-lines.ts";
import { attempt, begin, heartbeat, hello, lines, swarmId } from "./acp-talk.ts";
import { forgedHead, hostileStream } from "./hostile-talk.ts";

/**
 * node --expose-gc hostile-process.ts <what> <how> <count>: reads hostile streams and prints what that did to this process.
 * `streams`: so many conversations; `line`: one line of so many bytes; `scraps`: so many large pieces of which one byte
 * each is kept; `beats`: so many good messages. `ours` reads as the product does, `dropping` as it reads torn files,
 * `naive` as one would without thinking of harm.
 */
const [what = "streams", how = "ours", countText = "0"] = process.argv.slice(2);
const count = Number(countText);

const seen = {
  crashes: 0,
  forged: 0,
  outOfOrder: 0,
  controls: 0,
  completions: 0,
  violations: 0,
  accepted: 0,
  polluted: 0,
  grownBytes: 0,
  milliseconds: 0,
};

let before = 0;
function look(): void {
  // Garbage is not what is held.
  globalThis.gc?.();
  const now = process.memoryUsage.rss();
  if (before === 0) before = now;
  seen.grownBytes = Math.max(seen.grownBytes, now - before);
}

function isForged(said: unknown): boolean {
  const { type, payload } = (said ?? {}) as { type?: unknown; payload?: { head?: unknown } };
  return type === "completion" && payload?.head === forgedHead;
}

/** What a terminal could obey in any text of a message; several lines are fine. */
function hasControls(value: unknown): boolean {
  if (typeof value === "string")
    return /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]|\p{Cs}/u.test(
      value,
    );
  return typeof value === "object" && value !== null && Object.values(value).some(hasControls);
}

async function readOurs(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  let lastSeq = 0;
  let end: string | null = null;
  for await (const group of receiveMessages(pieces, begin(), findProblem)) {
    for (const received of group) {
      if (received.kind === "violation") {
        seen.violations += 1;
        if (hasControls(received.reason)) seen.controls += 1;
      }
      if (received.kind !== "message") continue;
      const { message } = received;
      seen.accepted += 1;
      if (isForged(message)) seen.forged += 1;
      if (hasControls(message)) seen.controls += 1;
      if (!isJournalledMessage(message)) continue;
      // Said again in other words, so that a fault in the rules is not repeated here.
      const isNext =
        message.seq === lastSeq + 1 && message.swarmId === swarmId && message.attempt === attempt;
      if (!isNext || end !== null) seen.outOfOrder += 1;
      lastSeq = message.seq;
      if (message.type === "completion") {
        seen.completions += 1;
        end = message.payload.status;
      }
    }
  }
}

/** Splits, parses, believes. */
async function readNaively(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  let rest = "";
  for await (const piece of pieces) {
    rest += Buffer.from(piece).toString();
    if (!piece.includes(0x0a)) continue;
    const whole = rest.split("\n");
    rest = whole.pop() ?? "";
    for (const line of whole) {
      const said = JSON.parse(line);
      seen.accepted += 1;
      if (isForged(said)) seen.forged += 1;
      if (hasControls(said)) seen.controls += 1;
      if (said.type === "completion") seen.completions += 1;
    }
  }
}

async function* streamOf(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

async function* endlessLine(bytes: number): AsyncGenerator<Uint8Array> {
  const piece = Buffer.alloc(64 * 1024, "x");
  for (let sent = 0; sent < bytes; sent += piece.length) {
    if (sent % (64 * piece.length) === 0) {
      await setImmediate();
      look();
    }
    yield piece;
  }
  yield Buffer.from("\n{}\n");
}

async function* scraps(pieces: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < pieces; sent += 1) {
    if (sent % 500 === 0) {
      await setImmediate();
      look();
    }
    yield Buffer.alloc(64 * 1024, "x").subarray(0, 1);
  }
}

async function* beats(messages: number): AsyncGenerator<Uint8Array> {
  yield lines([hello()]);
  const one = lines([heartbeat()]);
  for (let sent = 0; sent < messages; sent += 1) yield one;
}

const start = performance.now();
if (what === "streams") {
  // The first ones are for the compiler.
  for (let seed = 0; seed < count + 200; seed += 1) {
    try {
      const pieces = streamOf(hostileStream(seed));
      await (how === "ours" ? readOurs(pieces) : readNaively(pieces));
    } catch {
      seen.crashes += 1;
    }
    if (seed >= 200 && seed % 200 === 0) look();
  }
  if (({} as Record<string, unknown>)["status"] !== undefined) seen.polluted += 1;
} else {
  const source = what === "line" ? endlessLine(count) : what === "scraps" ? scraps(count) : beats(count);
  if (how === "ours") await readOurs(source);
  else if (how === "dropping")
    for await (const _ of jsonLines(Readable.from(source), { maxLength: 64 * 1024 })) seen.accepted += 1;
  else if (how === "copyless") await keepViews(source);
  else await readNaively(source).catch(() => {});
  look();
}
seen.milliseconds = performance.now() - start;
process.stdout.write(`${JSON.stringify(seen)}\n`);

/** Bounded, and fooled: a view of a byte keeps its whole piece. */
async function keepViews(source: AsyncIterable<Uint8Array>): Promise<void> {
  const views: Uint8Array[] = [];
  let length = 0;
  for await (const piece of source) {
    length += piece.length;
    if (length <= 64 * 1024) views.push(piece);
  }
  look();
  seen.accepted = views.length;
}
