import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { Completion } from "../../../src/contract/acp.ts";
import { noCrashHook } from "../../../src/machine/crash-points.ts";
import type {
  AdapterConversationEnd,
  AdapterConversationEvent,
} from "../../../src/protocol/adapter-conversation.ts";
import { type ClockAndRandom, systemClockAndRandom } from "../../../src/protocol/clock-and-random.ts";
import {
  type ConversationOptions,
  openAdapterConversation,
} from "../../../src/protocol/open-conversation.ts";
import { openHostJournal } from "../../../src/protocol/open-host-journal.ts";
import type { JournalledMessage } from "../../../src/protocol/rules/protocol-messages.ts";
import { findAdapterMessageProblem as findProblem } from "../../../src/schema/find-message-problem.ts";
import { FakeAdapter } from "../../fakes/adapter/fake-adapter.ts";
import { test } from "../../fakes/folders.ts";
import {
  activity,
  begin,
  completion,
  containerId,
  errorNews,
  goodNews,
  heartbeat,
  hello,
  lines,
  message,
  numbered,
  otherContainerId,
  progress,
} from "../../fakes/protocol/acp-talk.ts";
import { type FakeTiming, fakeTiming } from "../../fakes/protocol/fake-timing.ts";
import { MemoryJournal } from "../../fakes/protocol/memory-journal.ts";

const request = lines([message("task-request", { taskFilePath: "a.json" }, { attempt: undefined })]);

interface Talk {
  readonly events: AdapterConversationEvent[];
  readonly end: AdapterConversationEnd;
}

interface TalkOptions extends Partial<ConversationOptions> {
  readonly timing?: ClockAndRandom;
  readonly signal?: AbortSignal;
  readonly onEvent?: (
    event: AdapterConversationEvent,
    conversation: ReturnType<typeof openAdapterConversation>,
  ) => unknown;
}

function hold(adapter: FakeAdapter, { timing = fakeTiming(), signal, ...subject }: TalkOptions) {
  return openAdapterConversation(
    {
      containers: adapter.containers,
      crashPoint: noCrashHook,
      timing,
      findProblem,
    },
    {
      ...{ containerId, request, credentials: () => ({ API_KEY: "sesame" }) },
      journal: new MemoryJournal(begin()),
      ...subject,
    },
    signal ?? new AbortController().signal,
  );
}

/** Talks to the end, time passing as it must. */
async function talk(
  adapter: FakeAdapter,
  options: TalkOptions & { readonly timing?: FakeTiming } = {},
): Promise<Talk> {
  const timing = options.timing ?? fakeTiming();
  await using conversation = hold(adapter, { ...options, timing });
  const events: AdapterConversationEvent[] = [];
  const read = async (): Promise<void> => {
    for await (const event of conversation.events) {
      events.push(event);
      await options.onEvent?.(event, conversation);
    }
  };
  await timing.runUntil(read());
  const last = events.at(-1);
  if (last?.kind !== "end") throw new Error("It has no end");
  return { events, end: last.end };
}

function seqsOf(events: readonly AdapterConversationEvent[]): number[] {
  return events.flatMap((event) =>
    event.kind === "message" && "seq" in event.message && event.message.seq !== undefined
      ? [event.message.seq]
      : [],
  );
}

function lineOf(events: readonly AdapterConversationEvent[]): string[] {
  return events.flatMap((event) => (event.kind === "line" ? [event.status] : []));
}

const news = goodNews();
const all = news.map((_, index) => index + 1);

describe("a conversation", () => {
  test("is had to its end: every message once, on the disk before it is acknowledged, and the adapter may go", async () => {
    const acks: number[] = [];
    const early: number[] = [];
    const timing = fakeTiming();
    const journal = new MemoryJournal(begin(), () => timing.wait(5, new AbortController().signal));
    const adapter = new FakeAdapter({
      news,
      onAck: (seq) => {
        (seq > journal.lastSeq ? early : acks).push(seq);
      },
    });

    const { events, end } = await talk(adapter, { timing, journal });

    expect(end).toMatchObject({ kind: "completion", message: { payload: { status: "completed" } } });
    expect(seqsOf(events)).toEqual(all);
    expect(journal.messages.map(({ seq }) => seq)).toEqual(all);
    expect(adapter.heardTypes()).toEqual(["credentials", "task-request", "ack"]);
    expect({ acks, early }).toEqual({ acks: [all.length], early: [] });
    expect(adapter.state).toBe("exited");
    expect(timing.now()).toBeLessThan(100);
  });

  test("hands on the very bytes of the request, and keys to the adapter alone", async () => {
    const adapter = new FakeAdapter({ news });
    const journal = new MemoryJournal(begin());

    const { events } = await talk(adapter, { journal });

    expect(adapter.heard.find(({ type }) => type === "task-request")?.line).toBe(request.toString().trim());
    expect(adapter.heard[0]).toMatchObject({ payload: { env: { API_KEY: "sesame" } } });
    expect(JSON.stringify([events, journal.messages])).not.toContain("sesame");
  });

  test("with a request that is too long is refused before it begins", () => {
    expect(() => hold(new FakeAdapter(), { request: Buffer.alloc(8 * 1024 * 1024, "x") })).toThrow("8388608");
    expect(() => hold(new FakeAdapter(), { request: Buffer.from("{}\n{}\n") })).toThrow("more than one line");
  });

  test("survives a cut at every message", async () => {
    const bytes = lines([hello({ phase: "waiting" }, { containerId: "" }), ...numbered(news)]);
    const ends = [...bytes.keys()].filter((at) => bytes[at] === 0x0a).map((at) => at + 1);

    for (const end of ends) {
      const adapter = new FakeAdapter({ news, cutAfter: (number) => (number === 1 ? end : undefined) });
      const journal = new MemoryJournal(begin());
      const { events, end: last } = await talk(adapter, { journal });

      expect([end, last.kind, seqsOf(events)]).toEqual([end, "completion", all]);
      expect(journal.messages.map(({ seq }) => seq)).toEqual(all);
    }
    expect(ends.length).toBe(news.length + 1);
  });

  test("survives a cut at any byte of a line", async () => {
    const length = lines([hello({ phase: "waiting" }, { containerId: "" }), ...numbered(news)]).length;

    for (let end = 1; end < length; end += 19) {
      const adapter = new FakeAdapter({ news, cutAfter: (number) => (number === 1 ? end : undefined) });
      const { events, end: last } = await talk(adapter);

      expect([end, last.kind, seqsOf(events)]).toEqual([end, "completion", all]);
    }
  });

  test("survives a cut at any byte, again and again, in pieces of any size", async () => {
    const ends: string[] = [];
    for (let step = 300; step < 1300; step += 37) {
      const adapter = new FakeAdapter({ news, pieceBytes: 1 + (step % 61), cutAfter: () => step });
      const { events, end } = await talk(adapter);

      ends.push(end.kind);
      if (end.kind === "completion") expect([step, seqsOf(events)]).toEqual([step, all]);
      expect(seqsOf(events)).toEqual(all.slice(0, seqsOf(events).length));
    }
    // Where a connection never gets beyond its first words, nothing can be learnt; with room for one message, all can.
    expect([...new Set(ends)]).toEqual(["lost", "completion"]);
    expect(ends.indexOf("completion")).toBe(ends.lastIndexOf("lost") + 1);
    expect(ends.filter((end) => end === "completion").length).toBeGreaterThan(10);
  });

  test("joins again behind what is on the disk", async () => {
    const adapter = new FakeAdapter({ news, cutAfter: (number) => (number < 3 ? 1200 : undefined) });

    await talk(adapter);

    expect(adapter.joinedFrom[0]).toBe(0);
    expect(adapter.joinedFrom.slice(1).every((from) => from > 0)).toBe(true);
  });

  test("is had by two at once, each with its own journal", async () => {
    const adapter = new FakeAdapter({ news: news.slice(0, 5) });
    adapter.endsWhenAcknowledged = false;
    const timing = fakeTiming();
    const both = [new MemoryJournal(begin()), new MemoryJournal(begin())].map((journal) =>
      hold(adapter, { journal, timing }),
    );
    const read = both.map(async ({ events }) => await Array.fromAsync(events));
    await timing.advance(10);
    expect(adapter.joined).toBe(2);

    adapter.say(...news.slice(5));
    const heard = await timing.runUntil(Promise.all(read));

    expect(heard.map(seqsOf)).toEqual([all, all]);
    for (const conversation of both) await conversation[Symbol.asyncDispose]();
    expect(adapter.joined).toBe(0);
  });

  test("is had with a real journal and a real clock, at a good pace", async ({ folder }) => {
    const file = join(folder, "journal-1.ndjson");
    await using journal = await openHostJournal(file, { begin: begin(), findProblem });
    const many = Array.from({ length: 20_000 }, (_, at) => activity("US-001", `step ${at}`));
    const adapter = new FakeAdapter({ news: [...many, completion("completed")], pieceBytes: 4096 });
    const start = performance.now();

    await using conversation = hold(adapter, { journal, timing: systemClockAndRandom });
    const events = await Array.fromAsync(conversation.events);

    expect(seqsOf(events)).toHaveLength(20_001);
    expect(readFileSync(file, "utf8").trim().split("\n")).toHaveLength(20_001);
    expect(performance.now() - start).toBeLessThan(4_500);
  });

  test("goes on from the host's own journal, and what is replayed is not told again", async () => {
    const adapter = new FakeAdapter();
    adapter.say(...news);
    const known = begin();
    const first = numbered(news.slice(0, 4)) as unknown as JournalledMessage[];
    const statusById = new Map([...known.statusById, ["US-001", "in_progress"] as const]);
    const journal = new MemoryJournal({ ...known, lastSeq: first.length, statusById });

    const { events, end } = await talk(adapter, { journal });

    expect(end.kind).toBe("completion");
    expect(seqsOf(events)).toEqual(all.slice(4));
    expect(adapter.joinedFrom).toEqual([4]);
  });

  test("that was at its end already needs no connection", async () => {
    const adapter = new FakeAdapter();
    const end = numbered([completion("failed")])[0] as unknown as Completion;

    const outcome = await talk(adapter, { journal: new MemoryJournal({ ...begin(), lastSeq: 1, end }) });

    expect(outcome.end).toMatchObject({ kind: "completion", message: { payload: { status: "failed" } } });
    expect(adapter.joinedFrom).toEqual([]);
  });

  test("tells of messages that nobody knows, and leaves them out", async () => {
    const adapter = new FakeAdapter();
    const { events, end } = await talk(adapter, {
      onEvent: (event) => {
        if (event.kind !== "message" || event.message.type !== "hello") return;
        adapter.whisper(message("telemetry", { text: "hello" }));
        adapter.whisper(message("telemetry", {}));
        adapter.say(...news);
      },
    });

    expect(end.kind).toBe("completion");
    expect(events.filter(({ kind }) => kind === "ignored")).toEqual([
      { kind: "ignored", count: 1 },
      { kind: "ignored", count: 2 },
    ]);
  });

  test("ends with the answer that refuses its own request, and the adapter goes on without it", async () => {
    const adapter = new FakeAdapter();
    adapter.phase = "running";
    const journal = new MemoryJournal(begin());
    const timing = fakeTiming();
    const { events, end } = await talk(adapter, {
      ...{ journal, timing },
      onEvent: (event) => {
        if (event.kind !== "message" || event.message.type !== "hello") return;
        adapter.say(...news.slice(0, 2));
        adapter.whisper(
          message("error", { code: "REQUEST_CONFLICT", message: "another one \u001b[31mruns" }),
        );
      },
    });

    expect(end).toMatchObject({
      kind: "error",
      message: { payload: { code: "REQUEST_CONFLICT", message: "another one runs" } },
    });
    expect(events.filter((event) => event.kind === "message" && event.message.type === "error")).toEqual([]);
    // Nothing that was said before is lost, whatever came first on the line.
    expect(journal.messages.map(({ seq }) => seq)).toEqual(seqsOf(events));
    expect({ state: adapter.state, joined: adapter.joined }).toEqual({ state: "running", joined: 0 });
    expect(adapter.joinedFrom).toHaveLength(1);
    expect(timing.now()).toBeLessThan(1_000);
  });

  test("shows nothing that a terminal would obey", async () => {
    const evil = "\u001b]0;owned\u0007\u001b[2Jred\u0000\u009b31m\u202e\r\nend";
    const adapter = new FakeAdapter({
      news: [
        progress("US-001", "in_progress", {
          output: evil,
          checks: [{ command: evil, exitCode: 1, durationMs: 1, output: evil }],
          reason: { code: "VERIFY_FAILED", message: evil },
        }),
        activity("US-001", evil),
        { type: "completion", payload: { ...(completion("failed").payload as object), errors: [evil] } },
      ],
    });
    const journal = new MemoryJournal(begin());

    const { events, end } = await talk(adapter, { journal });

    const said = JSON.stringify([events, journal.messages, end], (_key, value) =>
      value instanceof Map ? [...value] : value,
    );
    expect(said).not.toMatch(/\\u00[01]|\\u009b|[\u0080-\u009f\u202e]|owned|\\r/);
    expect(end).toMatchObject({ message: { payload: { errors: ["red end"] } } });
    expect(journal.messages[0]).toMatchObject({ payload: { output: "red \nend" } });
  });
});

describe("a host that is slow", () => {
  test("makes the adapter wait instead of remembering", async () => {
    const many = Array.from({ length: 20_000 }, () => activity("US-001", "x".repeat(280)));
    const adapter = new FakeAdapter({ news: [...many, completion("completed")], pieceBytes: 16_384 });
    const timing = fakeTiming();
    const journal = new MemoryJournal(begin());
    await using conversation = hold(adapter, { timing, journal });
    const events = conversation.events[Symbol.asyncIterator]();

    // Nobody takes anything for a long time.
    await timing.advance(120_000);
    const waiting = adapter.sent;
    expect(waiting).toBeGreaterThan(1_000_000);
    expect(waiting).toBeLessThan(1_100_000);

    const heard: AdapterConversationEvent[] = [];
    const read = async (): Promise<void> => {
      for (let next = await events.next(); !next.done; next = await events.next()) heard.push(next.value);
    };
    await timing.runUntil(read());

    expect(seqsOf(heard)).toHaveLength(20_001);
    expect(lineOf(heard)).not.toContain("stalled");
    expect(Math.max(...journal.groups)).toBeLessThan(4_000);
  });

  test("acknowledges in groups, soon, and every hundred", async () => {
    const acks: number[] = [];
    const adapter = new FakeAdapter({ onAck: (seq) => acks.push(seq) });
    const timing = fakeTiming();
    await using conversation = hold(adapter, { timing });
    const read = Array.fromAsync(conversation.events);
    await timing.advance(1);

    adapter.say(progress("US-001", "in_progress"));
    await timing.advance(10);
    adapter.say(activity("US-001", "one"));
    await timing.advance(30);
    expect(acks).toEqual([]);
    await timing.advance(20);
    expect(acks).toEqual([2]);
    adapter.say(...Array.from({ length: 100 }, () => activity("US-001", "more")));
    await timing.advance(1);
    expect(acks).toEqual([2, 102]);
    adapter.say(completion("stopped"));
    await timing.runUntil(read);

    expect(acks).toEqual([2, 102, 103]);
  });
});

describe("a lost connection", () => {
  test("may have lost an acknowledgement, so the next one begins with it", async () => {
    const acks: number[] = [];
    const adapter = new FakeAdapter({ news: news.slice(0, 3), onAck: (seq) => acks.push(seq) });
    const timing = fakeTiming();
    await using conversation = hold(adapter, { timing });
    const read = Array.fromAsync(conversation.events);
    await timing.advance(100);

    adapter.cutAll();
    await timing.advance(1_000);
    expect(acks).toEqual([3, 3]);
    adapter.say(...news.slice(3));
    await timing.runUntil(read);

    expect(acks).toEqual([3, 3, all.length]);
  });

  test("is tried again ever more slowly, at random, and given up after its time", async () => {
    const timing = fakeTiming({ random: () => 0.5 });
    const adapter = new FakeAdapter({ cutAfter: () => 10 });
    adapter.diagnostics = "no socket";

    const { events, end } = await talk(adapter, { timing, limits: { lostMs: 120_000 } });

    expect(end).toMatchObject({
      kind: "lost",
      reason: { code: "ACP_CONNECTION_LOST", message: expect.stringMatching(/^.* for \d+ s: no socket$/) },
    });
    const backoffs = timing.waits.filter((ms) => ms < 29_000 && ms !== 50);
    expect(backoffs.slice(0, 8)).toEqual([188, 375, 750, 1500, 3000, 6000, 12_000, 22_500]);
    expect(Math.max(...backoffs)).toBe(22_500);
    expect(lineOf(events)[0]).toBe("lost");
    expect(timing.now()).toBeLessThan(160_000);
  });

  test("is tried again at once after one that brought news", async () => {
    const timing = fakeTiming();
    const adapter = new FakeAdapter({
      news,
      cutAfter: (number) => (number === 5 ? 1500 : number < 9 ? 10 : undefined),
    });

    const { end } = await talk(adapter, { timing });

    expect(end.kind).toBe("completion");
    expect(timing.waits.filter((ms) => ms < 29_000 && ms !== 50 && ms !== 2000)).toEqual([
      250, 500, 1000, 250, 500, 1000,
    ]);
  });

  test("to an engine that does not answer for a while is no end", async () => {
    const adapter = new FakeAdapter({ news });
    adapter.isReachable = false;

    const { end } = await talk(adapter, {
      onEvent: (event) => {
        if (event.kind === "line" && event.status === "lost") adapter.isReachable = true;
      },
    });

    expect(end.kind).toBe("completion");
  });

  test.each([
    { kind: "exited", code: 126 },
    { kind: "lost", reason: "the container is exited" },
  ] as const)("where the program cannot be started is no lie of the adapter: $kind", async (exit) => {
    const adapter = new FakeAdapter({ news });
    adapter.unstartedExit = exit;
    adapter.unstarted = "OCI runtime exec failed: exec failed: cannot exec in a stopped container\r\n";

    const { end } = await talk(adapter, {
      onEvent: (event) => {
        if (event.kind === "line" && event.status === "lost") adapter.exit(143);
      },
    });

    expect(end).toMatchObject({ kind: "exited", exitCode: 143 });
  });

  test("to a paused container waits as long as that takes", async () => {
    const timing = fakeTiming();
    const adapter = new FakeAdapter({ news });
    adapter.state = "paused";
    await using conversation = hold(adapter, { timing });
    const read = Array.fromAsync(conversation.events);

    await timing.advance(3_600_000);
    expect(adapter.joinedFrom).toEqual([]);
    adapter.state = "running";
    await conversation.resumed(3_600_000);
    const events = await timing.runUntil(read);

    expect(events.at(-1)).toMatchObject({ end: { kind: "completion" } });
    expect(lineOf(events)).not.toContain("stalled");
    expect(lineOf(events)).toContain("paused");
    expect(adapter.heard).toContainEqual(
      expect.objectContaining({ type: "resumed", payload: { pausedMs: 3_600_000 } }),
    );
  });
});

describe("a container that ended", () => {
  test("is asked for its journal, and what was not heard is told", async () => {
    const adapter = new FakeAdapter();
    adapter.say(...news);
    adapter.tornTail = '{"type":"activity","timest';
    adapter.exit(0);
    const journal = new MemoryJournal(begin());

    const { events, end } = await talk(adapter, { journal });

    expect(end.kind).toBe("completion");
    expect(seqsOf(events)).toEqual(all);
    expect(journal.messages).toHaveLength(all.length);
  });

  test("without a last word says so, with its exit code", async () => {
    const adapter = new FakeAdapter();
    adapter.say(...news.slice(0, 3));
    adapter.exit(137);

    const { events, end } = await talk(adapter);

    expect(end).toEqual({
      kind: "exited",
      exitCode: 137,
      memoryExhausted: false,
      processes: null,
      unread: null,
    });
    expect(seqsOf(events)).toEqual([1, 2, 3]);
  });

  test("in the midst of it all, and ended by an error, says which", async () => {
    const adapter = new FakeAdapter({
      news: news.slice(0, 3),
      cutAfter: (number) => (number === 1 ? 1000 : undefined),
    });
    const { events, end } = await talk(adapter, {
      onEvent: (event) => {
        if (event.kind !== "line" || event.status !== "lost" || adapter.state !== "running") return;
        adapter.say(errorNews());
        adapter.exit(2);
      },
    });

    expect(end).toMatchObject({ kind: "error", message: { payload: { code: "AGENT_NOT_FOUND" } } });
    expect(seqsOf(events)).toEqual([1, 2, 3, 4]);
  });

  test("after a run that was stopped and another one that said nothing, exited", async () => {
    const adapter = new FakeAdapter();
    adapter.say(completion("stopped"));
    adapter.phase = "waiting";
    const { end } = await talk(adapter, {
      onEvent: (event) => {
        if (event.kind === "message" && event.message.type === "completion") adapter.exit(137);
      },
    });

    expect(end).toMatchObject({ kind: "exited", exitCode: 137 });
    expect(adapter.heardTypes()).toContain("task-request");
  });

  test("with a journal that lies is a violation", async () => {
    const adapter = new FakeAdapter();
    adapter.say(...news.slice(0, 2));
    adapter.sayRaw("not json");
    adapter.exit(0);

    expect((await talk(adapter)).end).toEqual({
      kind: "violation",
      reason: { code: "ACP_PROTOCOL_VIOLATION", message: "a line is not JSON" },
    });
  });

  test("and is gone, is gone", async () => {
    const adapter = new FakeAdapter();
    adapter.state = "absent";

    expect((await talk(adapter)).end).toEqual({ kind: "gone" });
  });
});

describe("a violation", () => {
  test("ends the conversation, and what came before it is kept", async () => {
    const adapter = new FakeAdapter({ news: news.slice(0, 2) });
    const journal = new MemoryJournal(begin());
    const { events, end } = await talk(adapter, {
      journal,
      onEvent: (event) => {
        if (event.kind === "message" && event.message.type === "activity")
          adapter.sayRaw(message("completion", completion("completed").payload, { seq: 9 }));
      },
    });

    expect(end).toMatchObject({
      kind: "violation",
      reason: { message: "the adapter sent seq 9 after seq 2: at least one message is missing" },
    });
    expect(seqsOf(events)).toEqual([1, 2]);
    expect(journal.messages).toHaveLength(2);
    expect(adapter.joined).toBe(0);
    expect(adapter.joinedFrom).toHaveLength(1);
  });

  test("by the words of another container", async () => {
    const adapter = new FakeAdapter();
    const { end } = await talk(adapter, {
      onEvent: (event) => {
        if (event.kind === "message" && event.message.type === "hello")
          adapter.whisper(heartbeat({}, { containerId: otherContainerId }));
      },
    });

    expect(end).toMatchObject({ kind: "violation" });
  });
});

describe("silence", () => {
  test("for half a minute is told, once, and is no end", async () => {
    const timing = fakeTiming();
    const adapter = new FakeAdapter({ news: news.slice(0, 2) });
    await using conversation = hold(adapter, { timing });
    const events: AdapterConversationEvent[] = [];
    const read = (async () => {
      for await (const event of conversation.events) events.push(event);
    })();

    for (let beats = 0; beats < 24; beats += 1) {
      await timing.advance(5_000);
      adapter.beat();
    }
    await timing.advance(1);
    expect(lineOf(events)).toEqual(["live"]);
    await timing.advance(29_000);
    expect(lineOf(events)).toEqual(["live"]);
    await timing.advance(120_000);
    expect(lineOf(events)).toEqual(["live", "stalled"]);
    // The connection may be the one that is dead.
    expect(adapter.joinedFrom.length).toBeGreaterThan(2);
    adapter.beat();
    await timing.advance(1);
    expect(lineOf(events)).toEqual(["live", "stalled", "live"]);
    adapter.say(...news.slice(2));
    await timing.runUntil(read);

    expect(events.at(-1)).toMatchObject({ end: { kind: "completion" } });
  });

  /** A conversation with an adapter that says a little and nothing after it; time is the test's. */
  async function beginSilence() {
    const timing = fakeTiming();
    const adapter = new FakeAdapter({ news: news.slice(0, 2) });
    const conversation = hold(adapter, { timing });
    const events: AdapterConversationEvent[] = [];
    void (async () => {
      for await (const event of conversation.events) events.push(event);
    })().catch(() => {});
    await timing.advance(1_000);
    return { timing, adapter, conversation, events };
  }

  test("of an adapter that greets and says no more is its end, by the host's clock", async () => {
    const { timing, events, conversation } = await beginSilence();
    await using _conversation = conversation;

    await timing.advance(290_000);
    expect(events.at(-1)?.kind).not.toBe("end");
    await timing.advance(60_000);

    expect(events.at(-1)).toEqual({
      kind: "end",
      end: {
        kind: "lost",
        reason: {
          code: "ACP_CONNECTION_LOST",
          message: expect.stringMatching(
            /^The adapter sent nothing for 3\d\d s: the adapter accepts connections, but sends nothing$/,
          ),
        },
      },
    });
    expect(lineOf(events)).toEqual(["live", "stalled"]);
  });

  test("is not counted while its container is paused", async () => {
    const { timing, adapter, events, conversation } = await beginSilence();
    await using _conversation = conversation;

    adapter.state = "paused";
    await timing.advance(900_000);
    adapter.state = "running";
    adapter.cutAll();
    await timing.advance(260_000);
    expect(events.at(-1)?.kind).not.toBe("end");
    await timing.advance(90_000);

    expect(events.at(-1)).toMatchObject({ kind: "end", end: { kind: "lost" } });
  });

  test("of a paused container is no stall", async () => {
    const timing = fakeTiming();
    const adapter = new FakeAdapter({ news: news.slice(0, 2) });
    await using conversation = hold(adapter, { timing });
    const events: AdapterConversationEvent[] = [];
    const read = (async () => {
      for await (const event of conversation.events) events.push(event);
    })();
    await timing.advance(1_000);

    adapter.state = "paused";
    await timing.advance(600_000);
    adapter.state = "running";
    adapter.say(...news.slice(2));
    await timing.runUntil(read);

    expect(lineOf(events)).toEqual(["live", "paused", "live"]);
    expect(adapter.joinedFrom).toHaveLength(1);
  });
});

describe("an idle agent", () => {
  async function stage() {
    const timing = fakeTiming();
    const adapter = new FakeAdapter({ news: news.slice(0, 2) });
    const conversation = hold(adapter, { timing });
    const events: AdapterConversationEvent[] = [];
    const read = (async () => {
      for await (const event of conversation.events) events.push(event);
    })();
    await timing.advance(1);
    const beat = async (idleMs: number): Promise<string[]> => {
      await timing.advance(5_000);
      adapter.whisper(heartbeat({ idleMs }));
      await timing.advance(1);
      return lineOf(events);
    };
    return { timing, adapter, conversation, events, read, beat };
  }

  test("is stalled, told once, and live again when it works", async () => {
    const { timing, adapter, conversation, events, read, beat } = await stage();
    await using _conversation = conversation;

    expect(await beat(300_000)).toEqual(["live"]);
    expect(await beat(300_001)).toEqual(["live", "stalled"]);
    await beat(305_000);
    adapter.say(activity("US-001", "a note of the supervisor"));
    expect(await beat(310_000)).toEqual(["live", "stalled"]);
    expect(await beat(200)).toEqual(["live", "stalled", "live"]);
    expect(events).toContainEqual({
      ...{ kind: "line", status: "stalled" },
      why: "the worker's agent has done nothing for more than 5 min 0 s",
    });
    adapter.say(...news.slice(2));
    await timing.runUntil(read);

    expect(adapter.joinedFrom).toHaveLength(1);
  });

  test("whose connection is lost is stalled again on the next one", async () => {
    const { timing, adapter, conversation, events, read, beat } = await stage();
    await using _conversation = conversation;
    await beat(400_000);

    adapter.cutAll();
    await timing.advance(1_000);
    expect(lineOf(events)).toEqual(["live", "stalled", "lost", "stalled"]);
    expect(await beat(0)).toEqual(["live", "stalled", "lost", "stalled", "live"]);
    adapter.say(...news.slice(2));
    await timing.runUntil(read);
  });

  test("that falls silent as well is worth a new connection", async () => {
    const { timing, adapter, conversation, events, read, beat } = await stage();
    await using _conversation = conversation;
    await beat(400_000);

    await timing.advance(120_000);
    expect(lineOf(events)).toEqual(["live", "stalled"]);
    expect(adapter.joinedFrom.length).toBeGreaterThan(1);
    adapter.say(...news.slice(2));
    await timing.runUntil(read);
  });
});

describe("commands", () => {
  test("to stop reach the adapter, now or at the next connection", async () => {
    const adapter = new FakeAdapter({ cutAfter: (number) => (number === 1 ? 10 : undefined) });
    adapter.cancelled = () => {
      adapter.cancelled = undefined;
      adapter.say(completion("stopped"));
    };
    let isAsked = false;
    const { end } = await talk(adapter, {
      onEvent: async (event, conversation) => {
        if (event.kind !== "line" || isAsked) return;
        isAsked = true;
        await conversation.cancel({ reason: "user", graceMs: 5_000 });
      },
    });

    expect(end).toMatchObject({ kind: "completion", message: { payload: { status: "stopped" } } });
    expect(adapter.heardTypes()).not.toContain("task-request");
    expect(adapter.heard).toContainEqual(
      expect.objectContaining({ type: "cancel", payload: { reason: "user", graceMs: 5_000 } }),
    );
  });

  test("of a signal end it with the signal's reason, and nothing stays open", async () => {
    const timing = fakeTiming();
    const adapter = new FakeAdapter({ news: news.slice(0, 2) });
    const controller = new AbortController();
    {
      await using conversation = hold(adapter, { timing, signal: controller.signal });
      const read = Array.fromAsync(conversation.events);
      await timing.advance(1_000);
      controller.abort(new Error("enough"));

      await expect(read).rejects.toThrow("enough");
    }

    expect(adapter.joined).toBe(0);
  });

  test("a journal that cannot be written ends it, unacknowledged", async () => {
    const adapter = new FakeAdapter({ news });
    const journal = new MemoryJournal(begin(), async () => {
      throw new Error("ENOSPC");
    });

    await expect(talk(adapter, { journal })).rejects.toThrow("ENOSPC");

    expect(adapter.heardTypes()).not.toContain("ack");
    expect(adapter.joined).toBe(0);
  });
});
