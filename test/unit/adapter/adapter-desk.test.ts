import { describe, expect, test } from "vitest";
import { openHostInbox } from "../../../adapter/host-inbox.ts";
import { serializeCanonicalTaskRequest } from "../../../adapter/journal/task-request.ts";
import { PauseAwareClock } from "../../../adapter/machine/pause-aware-clock.ts";
import { SupervisorStatus } from "../../../adapter/supervisor-status.ts";
import type { Cancel, TaskRequestPayload } from "../../../src/contract/acp.ts";
import { count } from "../../counts.ts";
import { type Chance, chanceFrom } from "../../fakes/chance.ts";
import { containerId, swarmId } from "../../fakes/protocol/acp-talk.ts";

const commit = "a1".repeat(20);

const request = {
  taskFilePath: ".aimi/tasks/2026-01-01-work-tasks.json",
  branchName: "feat/work",
  repoUrl: "bundle:/aimi/in/repo.bundle",
  baseCommit: commit,
  envVars: { LEVEL: "3" },
  taskFile: {
    schemaVersion: "3.0",
    metadata: { title: "work", branchName: "feat/work" },
    userStories: [{ id: "US-001" }],
  },
  agent: { kind: "script", script: { "US-001": [{ say: "hello" }, { onRepair: [{ exit: 1 }] }] } },
  verify: ["true"],
  limits: { idleMs: 1_000 },
  done: [{ storyId: "US-002", commit }],
} satisfies TaskRequestPayload;

function fromHost(type: string, payload: unknown): Record<string, unknown> {
  return { type, timestamp: "2026-01-31T12:00:00.000Z", swarmId, containerId, payload };
}

const sendings = [
  fromHost("task-request", request),
  fromHost("ack", { seq: 3 }),
  fromHost("cancel", { reason: "enough", graceMs: 10 }),
  fromHost("resumed", { pausedMs: 500 }),
  fromHost("credentials", { env: { TOKEN: "secret" } }),
];

/** A desk whose listener and owner write down what they are told. */
function deskWith({
  known: acceptedRequest = null,
  lastSeq = 5,
}: {
  known?: string | null;
  lastSeq?: number;
} = {}) {
  const status = new SupervisorStatus({ AIMI_SWARM_ID: swarmId, AIMI_ATTEMPT: "1" }, "0.0.0");
  const journal = { lastSeq };
  const cancels: Cancel["payload"][] = [];
  const complaints: string[] = [];
  const answers: Record<string, unknown>[] = [];
  let monotonic = 0;
  const clock = new PauseAwareClock(() => monotonic);
  const desk = openHostInbox({
    ...{ status, acceptedRequest, clock },
    journal: {
      get lastSeq() {
        return journal.lastSeq;
      },
      append: () => Promise.reject(new Error("nobody writes here")),
      // biome-ignore lint/correctness/useYield: nobody reads here either.
      async *read() {
        throw new Error("nobody reads here");
      },
      async [Symbol.asyncDispose]() {},
    },
    onCancel: (cancel) => cancels.push(cancel),
    complain: (line) => complaints.push(line),
  });
  return {
    ...{ desk, status, journal, cancels, complaints, answers, clock },
    hear: (message: unknown) => desk.receive(message, { send: (line) => answers.push(JSON.parse(line)) }),
    pass: (ms: number) => {
      monotonic += ms;
      clock.tick(200);
    },
    /** What came of the request, as far as it is known now. */
    outcome: () =>
      Promise.race([
        desk.waitForRequest(new AbortController().signal).then(
          (payload) => payload,
          (error: Error & { code?: string }) => error.code ?? error.message,
        ),
        Promise.resolve().then(() =>
          Promise.resolve().then(() => Promise.resolve().then(() => "nothing" as const)),
        ),
      ]),
  };
}

const isHeard = (seq: number, { desk }: Pick<ReturnType<typeof deskWith>, "desk">): Promise<boolean> =>
  Promise.race([
    desk.waitForAck(seq, new AbortController().signal).then(() => true),
    new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
  ]);

/** The same content with the fields of every object in another order. */
function shuffled(value: unknown, chance: Chance): unknown {
  if (Array.isArray(value)) return value.map((item) => shuffled(item, chance));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  for (let at = entries.length - 1; at > 0; at -= 1) {
    const other = chance.below(at + 1);
    [entries[at], entries[other]] = [entries[other] as [string, unknown], entries[at] as [string, unknown]];
  }
  return Object.fromEntries(entries.map(([key, item]) => [key, shuffled(item, chance)]));
}

function nested(depth: number): unknown {
  return JSON.parse(`${'{"a":['.repeat(depth)}1${"]}".repeat(depth)}`);
}

const badValues: readonly (() => unknown)[] = [
  ...[null, true, false, 0, -1, 1.5, 1e308, Number.MAX_SAFE_INTEGER, "", "x", "-x", "__proto__", [], {}].map(
    (value) => () => value,
  ),
  () => "x".repeat(200_000),
  () => "\u0000\u001b[2J\ud800",
  () => [[[[]]]],
  () => nested(40),
  () => nested(20_000),
  () => JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'),
  () => Array.from({ length: 20_000 }, (_, index) => index),
  () => Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`K${index}`, index])),
  () => "e9b8c1de-5d47-4a69-9b0e-7c1d2e3f4a5b",
];

const bad: readonly unknown[] = badValues.map((make) => make());

/** Every place in a message where something else could stand. */
function placesIn(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null || path.length > 8) return [path];
  return [
    path,
    ...Object.entries(value)
      .slice(0, 20)
      .flatMap(([key, item]) => placesIn(item, [...path, key])),
  ];
}

function changed(
  value: unknown,
  [key, ...rest]: readonly string[],
  change: (old: unknown) => unknown,
): unknown {
  if (key === undefined) return change(value);
  const copy = Array.isArray(value) ? [...value] : { ...(value as Record<string, unknown>) };
  const holder = copy as Record<string, unknown>;
  const next = changed(holder[key], rest, change);
  if (next === undefined) delete holder[key];
  else
    Object.defineProperty(holder, key, { value: next, enumerable: true, writable: true, configurable: true });
  return copy;
}

function hostileMessage(chance: Chance): unknown {
  let message: unknown = structuredClone(chance.pick(sendings));
  if (chance.below(5) === 0)
    message = fromHost(chance.pick(["", "hello", "completion", "__proto__", "toString"]), {});
  for (let edits = chance.below(3); edits > 0; edits -= 1) {
    const place = chance.pick(placesIn(message));
    const value = chance.pick(bad);
    message = chance.pick([
      () => changed(message, place, () => value),
      () => changed(message, place, () => (place.length === 0 ? value : undefined)),
      () =>
        changed(
          message,
          [...place.slice(0, -1), chance.pick(["x", "__proto__", "seq", "then"])],
          () => value,
        ),
    ])();
  }
  return message;
}

describe("the desk, whatever the host says", () => {
  test("never throws, never starts twice, and believes only what is whole", async () => {
    let starts = 0;
    let refusals = 0;
    let believed = 0;
    for (let seed = 0; seed < count.hostileRequests; seed += 1) {
      const chance = chanceFrom(seed);
      const at = deskWith();
      let begun = 0;
      for (let messages = 1 + chance.below(6); messages > 0; messages -= 1) {
        const before = at.status.phase;
        at.hear(hostileMessage(chance));
        if (before === "waiting" && at.status.phase === "preparing") begun += 1;
        else expect(at.status.phase).toBe(before);
        expect(Number.isFinite(at.clock.now())).toBe(true);
        expect(at.clock.now()).toBeLessThanOrEqual(0);
      }
      expect(begun).toBeLessThanOrEqual(1);
      const outcome = await at.outcome();
      if (typeof outcome === "object" && outcome !== null) {
        starts += 1;
        expect(serializeCanonicalTaskRequest(outcome).length).toBeGreaterThan(0);
        expect(outcome.branchName.startsWith("-")).toBe(false);
      }
      if (outcome === "REQUEST_INVALID") refusals += 1;
      believed += at.cancels.length;
      expect(at.cancels.every(({ graceMs }) => graceMs >= 0)).toBe(true);
      expect(await isHeard(6, at)).toBe(false);
      expect(at.answers.every(({ type }) => type === "hello" || type === "error")).toBe(true);
    }

    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
    // Neither all refused nor all harmless.
    expect(starts).toBeGreaterThan(count.hostileRequests / 20);
    expect(refusals).toBeGreaterThan(count.hostileRequests / 10);
    expect(believed).toBeGreaterThan(count.hostileRequests / 20);
  }, 120_000);

  test("takes a request whose fields stand in another order for the same one, and starts once", async () => {
    const at = deskWith();
    at.hear(fromHost("task-request", request));
    for (let seed = 0; seed < 100; seed += 1)
      at.hear(shuffled(fromHost("task-request", request), chanceFrom(seed)));

    expect(at.answers.map(({ type }) => type)).toEqual(Array.from({ length: 101 }, () => "hello"));
    expect(at.status.phase).toBe("preparing");
    expect(await at.outcome()).toEqual(request);
  });

  test.each([
    ["a list in another order", { ...request, verify: ["true", "false"] }],
    ["a field more", { ...request, prompt: "" }],
    ["another text", { ...request, branchName: "feat/Work" }],
    ["a list instead of an object", { ...request, taskFile: { ...request.taskFile, userStories: {} } }],
  ])("tells only the asker that another request was accepted: %s", async (_name, other) => {
    const at = deskWith();
    at.hear(fromHost("task-request", request));
    at.hear(fromHost("task-request", other));

    expect(at.answers.at(-1)).toMatchObject({ type: "error", payload: { code: "REQUEST_CONFLICT" } });
    expect(at.answers.at(-1)).not.toHaveProperty("seq");
    expect(await at.outcome()).toEqual(request);
  });

  test("after a restart waits for the request that it knows, and for no other", async () => {
    const at = deskWith({ known: serializeCanonicalTaskRequest(request) });

    at.hear(fromHost("task-request", { ...request, branchName: "feat/other" }));
    at.hear({ type: "task-request" });
    expect(at.answers.at(-1)).toMatchObject({ payload: { code: "REQUEST_CONFLICT" } });
    expect(await at.outcome()).toBe("nothing");
    at.hear(shuffled(fromHost("task-request", request), chanceFrom(1)));

    expect(await at.outcome()).toEqual(request);
  });

  test("keeps credentials that come before the request, takes the newest, and answers with none of them", async () => {
    const at = deskWith();

    at.hear(fromHost("credentials", { env: { API_KEY: "sesame", API_URL: "https://one.example" } }));
    expect(await at.outcome()).toBe("nothing");
    at.hear(fromHost("task-request", request));
    expect(await at.outcome()).toEqual(request);
    expect(at.desk.credentials()).toEqual({ API_KEY: "sesame", API_URL: "https://one.example" });
    at.hear(fromHost("credentials", { env: { API_KEY: "open sesame" } }));

    expect(at.desk.credentials()).toEqual({ API_KEY: "open sesame" });
    expect(JSON.stringify([at.answers, at.complaints, at.status.envelope()])).not.toContain("sesame");
  });

  test("leaves what is for another swarm alone", async () => {
    const at = deskWith();
    const foreign = "3f2b8c1e-5d47-4a69-9b0e-7c1d2e3f4a5c";

    for (const message of sendings.slice(1)) at.hear({ ...message, swarmId: foreign });

    expect(at.cancels).toEqual([]);
    expect(at.desk.credentials()).toEqual({});
    expect(at.complaints).toHaveLength(sendings.length - 1);
    at.hear({ ...sendings[0], swarmId: foreign });
    expect(await at.outcome()).toBe("REQUEST_INVALID");
  });

  test("an acknowledgement of what is not written yet counts only for what is", async () => {
    const at = deskWith({ lastSeq: 5 });

    at.hear(fromHost("ack", { seq: Number.MAX_SAFE_INTEGER }));
    expect(await isHeard(5, at)).toBe(true);
    at.journal.lastSeq = 6;

    expect(await isHeard(6, at)).toBe(false);
    at.hear(fromHost("ack", { seq: 6 }));
    expect(await isHeard(6, at)).toBe(true);
    // Late ones take nothing back.
    at.hear(fromHost("ack", { seq: 1 }));
    expect(await isHeard(6, at)).toBe(true);
  });

  test("a pause that takes time away is none", () => {
    const at = deskWith();
    for (const pausedMs of [-1, -1e308, "5", null, 1.5, 1e308]) at.hear(fromHost("resumed", { pausedMs }));

    expect(at.clock.now()).toBe(0);
    expect(at.complaints).toHaveLength(6);
  });

  test("cancels in a row are all passed on, and change nothing but the time for an end", () => {
    const at = deskWith();
    for (const graceMs of [5_000, 0, 10]) at.hear(fromHost("cancel", { reason: "enough", graceMs }));

    expect(at.cancels).toHaveLength(3);
    expect(at.status.graceMs).toBe(10);
    expect(at.status.phase).toBe("waiting");
  });

  test("a request before which it was cancelled is not waited for", async () => {
    const at = deskWith();

    expect(await at.desk.waitForRequest(AbortSignal.abort())).toBeNull();
  });
});
