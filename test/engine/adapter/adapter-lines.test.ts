import { describe, expect, inject, test } from "vitest";
import type { AcpMessage } from "../../../src/contract/acp.ts";
import { count } from "../../counts.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { eventually } from "../../fakes/eventually.ts";
import { isSaying, SteadyHost } from "../../fakes/protocol/steady-host.ts";
import { type Attached, scripted, startWorker, story, type Worker } from "../../fakes/swarm/worker.ts";

const engine = openEngine(inject("endpoint"));
const numbers = (length: number): string[] =>
  Array.from({ length }, (_, index) => `US-${String(index + 1).padStart(3, "0")}`);

/** Stories that are done at once. */
const quick = (worker: Pick<Worker, "base">, stories: number) =>
  scripted(
    worker,
    Object.fromEntries(
      numbers(stories).map((id) => [id, [{ write: { path: `${id}.txt`, content: `${id}\n` } }]]),
    ),
  );

const stuck = (worker: Pick<Worker, "base">) =>
  scripted(worker, {
    "US-001": [
      { run: ["sh", "-c", "echo in the tool; sleep 1000"] },
      { onRepair: [{ write: { path: "done.txt", content: "done\n" } }] },
    ],
  });

const seqOf = (message: AcpMessage): number => ("seq" in message ? (message.seq ?? 0) : 0);

test("a line that is cut after every single message loses none and brings none in other words", async () => {
  await using worker = await startWorker(engine);
  const host = new SteadyHost(worker, quick(worker, count.cutStories));
  // Without a listener at its end the supervisor would end at once.
  await using whole = await host.join();

  let known = 0;
  for (let isOver = false; !isOver; ) {
    await using line = await worker.attach(known);
    const next = await line.until((message) => seqOf(message) > known);
    expect(seqOf(next)).toBe(known + 1);
    host.keep(line);
    known += 1;
    isOver = next.type === "completion";
  }
  const { payload } = await host.finish(whole);

  expect(payload.status).toBe("completed");
  expect(known).toBe(host.kept.length);
  expect(known).toBeGreaterThan(3 * count.cutStories);
});

test("two who are attached get the same; what the second asks for in other words ends nothing", async () => {
  await using worker = await startWorker(engine);
  const request = quick(worker, 3);
  const host = new SteadyHost(worker, request);
  const other = new SteadyHost(worker, request);

  await using first = await host.join();
  const second = await other.join();
  await second.send("task-request", { ...request, branchName: "feat/other" });
  const refused = await second.untilType("error");
  await second.until(({ type }) => type === "checkpoint");
  await second[Symbol.asyncDispose]();
  other.keep(second);
  await using again = await other.join();
  await other.hearEnd(again);
  await host.finish(first);

  expect(refused.payload.code).toBe("REQUEST_CONFLICT");
  expect(refused).not.toHaveProperty("seq");
  expect(first.messages.every(({ type }) => type !== "error")).toBe(true);
  expect(other.kept).toEqual(host.kept);
});

test("a line from an old message brings the rest, from a future one nothing, and from a number that is none it is refused", async () => {
  await using worker = await startWorker(engine);
  const host = new SteadyHost(worker, quick(worker, 1));
  await using line = await host.join();
  await host.hearEnd(line);
  const lastSeq = host.kept.length;

  for (const from of [0, 1, lastSeq - 1, lastSeq]) {
    await using old = await worker.attach(from);
    if (from < lastSeq) await old.until((message) => seqOf(message) === lastSeq);
    else await old.untilType("hello");
    const seqs = old.messages.map(seqOf).filter((seq) => seq > 0);
    expect(seqs).toEqual(host.kept.map(({ seq }) => seq).slice(from));
  }
  await using future = await worker.attach(lastSeq + 1);
  await future.closed;
  expect(future.messages).toMatchObject([{ type: "hello", payload: { lastSeq } }]);
  for (const from of ["-1", "1.5", "x", "1e99"]) {
    const { code, text } = await worker.run(["/opt/aimi/adapter", "attach", "--from", from]);
    expect([code, text]).toEqual([2, expect.stringContaining("--from")]);
  }
  await host.finish(line);
});

describe("kill -9 of the supervisor", () => {
  const moments: readonly [moment: string, isIt: (message: AcpMessage) => boolean][] = [
    ["a checkpoint", ({ type }) => type === "checkpoint"],
    ["the task's end", ({ type }) => type === "completion"],
    ["a story's begin", ({ type }) => type === "progress-update"],
    ["what an agent said", ({ type }) => type === "activity"],
    [
      "a story's end",
      (message) => message.type === "progress-update" && message.payload.status === "completed",
    ],
  ];
  for (const [moment, isIt] of moments.slice(0, count.supervisorKills))
    test(`right after ${moment} loses nothing`, async () => {
      await using worker = await startWorker(engine);
      const host = new SteadyHost(worker, quick(worker, 2));
      await using before = await host.join();

      await before.until(isIt);
      await worker.run(["pkill", "-KILL", "-f", "adapter.mjs supervise"]);
      expect(await worker.ended()).toBe(137);
      await before.closed;
      host.keep(before);
      await using after = await host.join();
      const { payload } = await host.finish(after);

      expect(payload).toMatchObject({ status: "completed", errors: [] });
      expect(host.fileOf("US-001.txt") + host.fileOf("US-002.txt")).toBe("US-001\nUS-002\n");
    });

  const torn = [
    ["half of one", '{"type":"progress-upd'],
    [
      "all of one but its end",
      '{"type":"completion","seq":9,"payload":{"status":"completed","prUrl":null,"errors":[],"head":"","bundle":null,"sha256":null}}',
    ],
  ];
  test.for(torn)("in the middle of a message takes back %s", async ([_what = "", line = ""]) => {
    await using worker = await startWorker(engine);
    const host = new SteadyHost(worker, stuck(worker));
    await using before = await host.join();
    await before.until(isSaying("in the tool"));

    await worker.run([
      ...["sh", "-c", 'printf %s "$1" >> /aimi/journal.ndjson; pkill -KILL -f "adapter.mjs supervise"'],
      ...["sh", line],
    ]);
    await worker.ended();
    host.keep(before);
    await using after = await host.join();
    const { payload } = await host.finish(after);

    expect(payload.status).toBe("completed");
    expect(host.fileOf("done.txt")).toBe("done\n");
  });

  test("while it prepares the workspace leaves no lock in its own way", async () => {
    await using worker = await startWorker(engine);
    const before = new SteadyHost(worker, stuck(worker));
    await using line = await before.join();
    await line.until(isSaying("in the tool"));

    // As far as it had come by then: a request, half a repository, and nothing said.
    await worker.run(["touch", "/workspace/.git/index.lock", "/workspace/.git/HEAD.lock"], "1000:1000");
    await worker.run([
      ...["sh", "-c", "rm /aimi/journal.ndjson /aimi/notes.json; pkill -KILL -f 'adapter.mjs supervise'"],
    ]);
    await worker.ended();
    const host = new SteadyHost(worker, stuck(worker));
    await using after = await host.join();
    await after.until(isSaying("in the tool"));
    await worker.run(["pkill", "-KILL", "sleep"]);
    const { payload } = await host.finish(after);

    expect(payload.status).toBe("completed");
  });
});

test("a task goes on and ends when nobody listens, and is told to who comes later", async () => {
  await using worker = await startWorker(engine);
  const host = new SteadyHost(worker, quick(worker, 2));
  const before = await host.join();
  await before.until(({ type }) => type === "progress-update");

  await before[Symbol.asyncDispose]();
  expect(await worker.ended()).toBe(0);
  host.keep(before);
  await using after = await host.join();
  const { payload } = await host.finish(after);

  expect(payload.status).toBe("completed");
  expect(host.statuses()).toEqual([
    "US-001 in_progress",
    "US-001 completed",
    "US-002 in_progress",
    "US-002 completed",
  ]);
});

test("a host that acknowledges nothing holds a sandbox for ten seconds", async () => {
  await using worker = await startWorker(engine);
  const host = new SteadyHost(worker, quick(worker, 1));
  await using line = await host.join();
  await host.hearEnd(line);
  const endedAt = performance.now();

  expect(await worker.ended()).toBe(0);

  expect(performance.now() - endedAt).toBeGreaterThan(7_000);
  expect(performance.now() - endedAt).toBeLessThan(12_000);
});

const fill = `const fs = require("node:fs");
const { AIMI_SWARM_ID: swarmId } = process.env;
const summary = "x".repeat(300);
let text = "";
for (let seq = 1; seq <= ${count.unreadMessages}; seq += 1)
  text += JSON.stringify({ type: "activity", timestamp: new Date().toISOString(), swarmId, attempt: 1, containerId: "",
    seq, payload: { storyId: "US-001", kind: "text", summary, more: summary + summary } }) + "\\n";
fs.writeFileSync("/aimi/journal.ndjson", text);`;

test("a host that does not read costs the supervisor no memory, and others no time", async () => {
  await using worker = await startWorker(engine);
  await worker.run(["/opt/aimi/node", "-e", fill]);
  const { text: size } = await worker.run(["stat", "-c", "%s", "/aimi/journal.ndjson"]);
  await worker.containers.stop(worker.id, { graceMs: 0 });
  await worker.start();
  const stories = numbers(3).map((id) => story(id));
  const agent = {
    kind: "command" as const,
    command: ["sh", "-c", "seq 300000; echo done > $AIMI_STORY_ID.txt"],
  };
  const host = new SteadyHost(worker, scripted(worker, {}, { stories, agent }));
  const rssOf = async (): Promise<number> => {
    const { text } = await worker.run(["sh", "-c", "cat /proc/$(pgrep -of 'adapter.mjs supervise')/status"]);
    return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1]) * 1024;
  };
  const reader = await eventually("a line", async () => {
    const line = await worker.attach();
    return line.untilType("hello").then(
      () => line,
      () => null,
    );
  });
  await reader.until((message) => seqOf(message) === count.unreadMessages);
  const before = await rssOf();

  const idlers = await Promise.all([1, 2, 3, 4].map(() => attachWithoutReading(worker)));
  await using line = await host.join();
  // At once: a supervisor that has said its last word waits ten seconds for the answer, and to examine all of it takes long.
  await line.untilType("completion");
  const growth = (await rssOf()) - before;
  await reader[Symbol.asyncDispose]();
  for (const idler of idlers) await idler[Symbol.asyncDispose]();
  await host.finish(line);

  expect(Number(size)).toBeGreaterThan(60_000_000);
  expect(growth).toBeLessThan(45_000_000);
  expect(host.kept.length).toBeGreaterThan(count.unreadMessages + 9);
});

function attachWithoutReading(worker: Worker): Promise<Attached["execution"]> {
  const command = ["/opt/aimi/adapter", "attach", "--from", "0"];
  return worker.containers.exec(worker.id, { command, user: "0:0", input: true });
}
