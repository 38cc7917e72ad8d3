import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test as plain } from "vitest";
import type { KeptEvent } from "../../../src/contract/event.ts";
import { type EventLog, type EventLogOptions, eventLog } from "../../../src/events/event-log.ts";
import { type EventReader, eventReader } from "../../../src/events/event-reader.ts";
import { eventLine } from "../../../src/events/rules/event-line.ts";
import { findSchemaViolations } from "../../../src/schema/find-violations.ts";
import { test } from "../../fakes/folders.ts";

const at = "2026-01-02T03:04:05.000Z";
const swarmId = "3f2b8c1e-5a4d-4e6f-8a9b-0c1d2e3f4a5b";
const isRoot = process.getuid?.() === 0;

function logIn(folder: string, options: Partial<EventLogOptions> = {}): EventLog & EventReader {
  return { ...eventReader(folder), ...eventLog({ folder, swarmId, clock: () => new Date(at), ...options }) };
}

/** Adds events with numbers, and waits until they are in the file. */
async function addNumbers(log: EventLog, from: number, to: number): Promise<void> {
  for (let number = from; number <= to; number += 1) log.add({ event: "waiting", number });
  await log.flush();
}

async function numbersIn(events: AsyncIterable<KeptEvent>): Promise<unknown[]> {
  return (await Array.fromAsync(events)).map((event) => event["number"]);
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

describe("a line of the event log", () => {
  const lineWith = (facts: object): KeptEvent =>
    JSON.parse(eventLine({ event: "ended", worker: "login", ...facts }, { at, swarmId }));

  plain("has time, swarm, event and worker first, and then the facts as they are", () => {
    const reason = { code: "AGENT_CRASH", message: "it crashed" };

    expect(eventLine({ event: "ended", worker: "login", status: "failed", reason }, { at, swarmId })).toBe(
      `${JSON.stringify({ at, swarmId, event: "ended", worker: "login", status: "failed", reason })}\n`,
    );
  });

  plain("is of the form that the schema has, whatever the facts are", async () => {
    const circle: Record<string, unknown> = {};
    circle["circle"] = circle;
    for (const facts of [{ circle }, { big: 1n, none: undefined, call: () => 1 }, { at: 7, swarmId: [] }, []])
      expect(await findSchemaViolations("event", lineWith(facts))).toEqual([]);
  });

  plain("cannot be made to say another time, swarm or worker by its facts", () => {
    expect(lineWith({ at: "never", swarmId: "other", isCut: true })).toEqual({
      ...{ at, swarmId, event: "ended", worker: "login" },
    });
  });

  plain("says the swarm that an event tells of, where the log has none of its own", () => {
    expect(JSON.parse(eventLine({ event: "begun", swarmId }, { at, swarmId: null }))).toEqual({
      ...{ at, swarmId, event: "begun" },
    });
  });

  plain("has no line break, no escape sequence and no turned writing direction in it", () => {
    const line = eventLine(
      { event: "line", "\u001b[31mkey": "\u001b]0;title\u0007a\nb\u202ec", list: ["\u009b2J\r\n"] },
      { at, swarmId },
    );

    expect(line.indexOf("\n")).toBe(line.length - 1);
    expect(line).not.toMatch(/\\u001b|\\n|\\u202e|\\u0007|[\u0080-\u009f]/);
    expect(JSON.parse(line)).toMatchObject({ key: "a bc" });
  });

  plain.for([
    ["a long text", { text: "x".repeat(1_000_000) }],
    ["a text of wide characters", { text: "🎉".repeat(5_000) }],
    [
      "many texts",
      { paths: Array.from({ length: 1_000 }, (_, index) => `path/${index}/${"x".repeat(100)}`) },
    ],
    [
      "many facts",
      Object.fromEntries(range(1, 5_000).map((index) => [`fact${index}${"x".repeat(50)}`, index])),
    ],
    ["lists in lists", { list: Array(100).fill(Array(100).fill(Array(100).fill("x".repeat(100)))) }],
  ] as const)("is never longer than its bound, and says that it is cut: %s", ([, facts]) => {
    const line = eventLine({ event: "ended", worker: "login", ...facts }, { at, swarmId });

    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(4096);
    expect(JSON.parse(line)).toMatchObject({ at, swarmId, event: "ended", worker: "login", isCut: true });
  });
});

describe("the event log", () => {
  test("keeps events in the order in which they were added, and makes nothing before the first", async ({
    folder,
  }) => {
    const place = join(folder, ".aimi");
    {
      await using log = logIn(place);
      expect(existsSync(place)).toBe(false);
      for (const number of range(1, 500)) log.add({ event: "waiting", number });
    }

    expect(await numbersIn(logIn(place).read())).toEqual(range(1, 500));
    expect(readdirSync(place)).toEqual(["events.ndjson"]);
  });

  test("what one process wrote, the next one goes on with", async ({ folder }) => {
    for (const [from, to] of [
      [1, 3],
      [4, 5],
    ] as const) {
      await using log = logIn(folder);
      await addNumbers(log, from, to);
    }

    expect(await numbersIn(logIn(folder).read())).toEqual(range(1, 5));
  });

  test("a line that a killed writer left torn is ended by the next one, and read by nobody", async ({
    folder,
  }) => {
    {
      await using log = logIn(folder);
      await addNumbers(log, 1, 2);
    }
    appendFileSync(join(folder, "events.ndjson"), '{"at":"2026-01-02T03:04:05.000Z","swarmId":"x","ev');
    expect(await numbersIn(logIn(folder).read())).toEqual([1, 2]);

    {
      await using log = logIn(folder);
      await addNumbers(log, 3, 3);
    }

    expect(await numbersIn(logIn(folder).read())).toEqual([1, 2, 3]);
    expect(readFileSync(join(folder, "events.ndjson"), "utf8")).toMatch(/"ev\n\{/);
  });

  test("what is no event is passed over, however long it is", async ({ folder }) => {
    const lines = ["not json", "[]", "null", '{"event":"x"}', '{"at":1,"event":"x","swarmId":null}'];
    const good = JSON.stringify({ at, swarmId: null, event: "waiting", number: 1 });
    writeFileSync(join(folder, "events.ndjson"), `${[...lines, "x".repeat(200_000), good].join("\n")}\n`);

    expect(await numbersIn(logIn(folder).read())).toEqual([1]);
  });

  test("a full file makes room for the next, and of the full ones three are kept", async ({ folder }) => {
    await using log = logIn(folder, { maxFileBytes: 2_000 });
    for (const number of range(1, 100)) await addNumbers(log, number, number);

    const names = readdirSync(folder).sort();
    const kept = await numbersIn(log.read());

    expect(names).toEqual(["events.1.ndjson", "events.2.ndjson", "events.3.ndjson", "events.ndjson"]);
    for (const name of names) expect(readFileSync(join(folder, name)).length).toBeLessThanOrEqual(2_000);
    // The newest are there without a gap.
    expect(kept.length).toBeGreaterThan(40);
    expect(kept).toEqual(range(101 - kept.length, 100));
  });

  test("after `git clean` it begins anew where it was", async ({ folder }) => {
    const place = join(folder, ".aimi");
    await using log = logIn(place);
    await addNumbers(log, 1, 2);

    rmSync(place, { recursive: true });
    await addNumbers(log, 3, 4);

    expect(await numbersIn(log.read())).toEqual([3, 4]);
  });

  test("a link in its place is not followed, and nobody waits for a pipe", async ({ folder }) => {
    const [place, outside] = [join(folder, ".aimi"), join(folder, "outside")];
    mkdirSync(place);
    writeFileSync(outside, "mine\n");
    symlinkSync(outside, join(place, "events.ndjson"));
    symlinkSync("/dev/zero", join(place, "events.1.ndjson"));
    execFileSync("mkfifo", [join(place, "events.2.ndjson")]);
    const failures: unknown[] = [];

    {
      await using log = logIn(place, { onFailure: (error) => failures.push(error) });
      log.add({ event: "waiting" });
      expect(await Array.fromAsync(log.read())).toEqual([]);
    }

    expect(failures).toMatchObject([{ code: "ELOOP" }]);
    expect(readFileSync(outside, "utf8")).toBe("mine\n");
  });

  test("an event after the end is for nobody, and harms nothing", async ({ folder }) => {
    const log = logIn(folder);
    await log[Symbol.asyncDispose]();

    log.add({ event: "waiting" });
    await log.flush();

    expect(readdirSync(folder)).toEqual([]);
  });

  test.skipIf(!isRoot)(
    "a full disk is told once, kills nobody, and what was added meanwhile is there when there is room again",
    async ({ folder }) => {
      const disk = join(folder, "disk");
      mkdirSync(disk);
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk]);
      try {
        const failures: unknown[] = [];
        await using log = logIn(disk, { onFailure: (error) => failures.push(error) });
        await addNumbers(log, 1, 2);
        const { bavail, bsize } = statfsSync(disk);
        writeFileSync(join(disk, "ballast"), Buffer.alloc(bavail * bsize));

        for (const number of range(3, 100)) {
          log.add({ event: "waiting", number, text: "x".repeat(500) });
          await log.flush();
        }
        expect(failures).toMatchObject([{ code: "ENOSPC" }]);

        rmSync(join(disk, "ballast"));
        await log.flush();
        const kept = await numbersIn(log.read());
        // A page is what fits on so small a disk; whatever does is whole, in order and there once.
        expect(kept.slice(0, 40)).toEqual(range(1, 40));
      } finally {
        execFileSync("umount", ["--lazy", disk]);
      }
    },
  );

  test("with more than there is room for in memory, the newest stay, and how many are lost is told", async ({
    folder,
  }) => {
    const place = join(folder, "away", ".aimi");
    await using log = logIn(place);
    await addNumbers(log, 1, 6_000);
    mkdirSync(join(folder, "away"));

    await log.flush();

    const events = await Array.fromAsync(log.read());
    const lost = Number(events[0]?.["events"]);
    expect(events[0]).toMatchObject({ event: "lost" });
    expect(lost).toBeGreaterThanOrEqual(1_000);
    expect(events.slice(1).map((event) => event["number"])).toEqual(range(lost + 1, 6_000));
  });
});

describe("following the event log", () => {
  /** Takes so many, by their numbers. */
  async function take(events: AsyncIterator<KeptEvent>, count: number): Promise<unknown[]> {
    const taken: unknown[] = [];
    while (taken.length < count) taken.push((await events.next()).value["number"]);
    return taken;
  }

  test("tells what is there, what comes, and ends with its signal", async ({ folder }) => {
    const end = new AbortController();
    await using log = logIn(folder);
    await addNumbers(log, 1, 2);
    const events = log.follow(end.signal)[Symbol.asyncIterator]();

    expect(await take(events, 2)).toEqual([1, 2]);
    const next = take(events, 2);
    await addNumbers(log, 3, 4);
    expect(await next).toEqual([3, 4]);
    const last = events.next();
    end.abort();
    expect(await last).toEqual({ value: undefined, done: true });
  });

  test("goes on over full files, without losing or repeating one", async ({ folder }) => {
    await using log = logIn(folder, { maxFileBytes: 2_000 });
    const events = log.follow(new AbortController().signal)[Symbol.asyncIterator]();
    const taken: unknown[] = [];

    for (let from = 1; from <= 200; from += 20) {
      for (const number of range(from, from + 19)) await addNumbers(log, number, number);
      taken.push(...(await take(events, 20)));
    }
    await events.return?.(undefined);

    expect(taken).toEqual(range(1, 200));
  });

  test("goes on after `git clean`, and after a file that was emptied", async ({ folder }) => {
    const place = join(folder, ".aimi");
    await using log = logIn(place);
    await addNumbers(log, 1, 3);
    const events = log.follow(new AbortController().signal)[Symbol.asyncIterator]();
    expect(await take(events, 3)).toEqual([1, 2, 3]);

    rmSync(place, { recursive: true });
    await addNumbers(log, 4, 5);
    expect(await take(events, 2)).toEqual([4, 5]);
    writeFileSync(join(place, "events.ndjson"), "");
    await addNumbers(log, 6, 6);
    expect(await take(events, 1)).toEqual([6]);
    await events.return?.(undefined);
  });

  test("waits for a log that is not there yet", async ({ folder }) => {
    await using log = logIn(folder);
    const events = log.follow(new AbortController().signal)[Symbol.asyncIterator]();
    const first = take(events, 1);

    await addNumbers(log, 1, 1);

    expect(await first).toEqual([1]);
    await events.return?.(undefined);
  });
});
