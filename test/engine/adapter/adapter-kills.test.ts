import { describe, expect, inject, test } from "vitest";
import type { TaskRequestPayload } from "../../../src/contract/acp.ts";
import { count } from "../../counts.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { eventually } from "../../fakes/eventually.ts";
import { git } from "../../fakes/git/repository.ts";
import { isSaying, kill, readSnapshot, SteadyHost, untilSnapshot } from "../../fakes/protocol/steady-host.ts";
import { type Attached, scripted, startWorker, story, type Worker } from "../../fakes/swarm/worker.ts";

const engine = openEngine(inject("endpoint"));
/** One of them is enough to see that nothing was broken; the full counts have both. */
const { runtimes } = await engine.info();
const snapshotMs = 300;
const MiB = 1024 ** 2;

/** One story that is done at once, and one whose agent waits the first time; the second time it needs what it had written. */
function waiting(
  worker: Pick<Worker, "base">,
  changes: Partial<TaskRequestPayload> = {},
): TaskRequestPayload {
  return scripted(
    worker,
    {
      "US-001": [{ write: { path: "first.txt", content: "first\n" } }],
      "US-002": [
        { write: { path: "half.txt", content: "half\n" } },
        { run: ["sh", "-c", "echo in the tool; sleep 1000"] },
        { onRepair: [{ run: ["sh", "-c", 'test "$TOKEN" && cp half.txt whole.txt'] }] },
      ],
    },
    { limits: { snapshotMs }, ...changes },
  );
}

/** The same with a program that waits for an answer itself. */
const asking = (worker: Pick<Worker, "base">): TaskRequestPayload =>
  waiting(worker, {
    agent: {
      kind: "command",
      command: [
        ...["sh", "-c"],
        `[ $AIMI_STORY_ID = US-001 ] && { echo first > first.txt; exit; }
         [ "$AIMI_CONTINUES" ] && { test "$TOKEN" && cp half.txt whole.txt; exit; }
         echo half > half.txt; mkfifo /tmp/answer; echo in the tool; read answer < /tmp/answer`,
      ],
    },
  });

interface Strike {
  readonly title: string;
  readonly runtimes: readonly string[];
  readonly request?: (worker: Worker) => TaskRequestPayload;
  readonly strike: (worker: Worker, line: Attached) => Promise<unknown>;
  /** Whether it ends the container. */
  readonly ends?: number;
}

const both = ["runc", "runsc"].slice(0, count.runtimes);
const strikes: readonly Strike[] = [
  {
    title: "the agent in its tool",
    runtimes: both,
    strike: (worker) => kill(worker, "/opt/aimi/node .*adapter.mjs play"),
  },
  { title: "the tool alone", runtimes: ["runc"], strike: (worker) => kill(worker, "sleep 1000") },
  {
    title: "all that the agent's user runs",
    runtimes: ["runc"],
    strike: (worker) => worker.run(["sh", "-c", "kill -s KILL -- -1"], "1000:1000"),
  },
  {
    title: "an agent that waits for an answer",
    runtimes: ["runc"],
    request: asking,
    strike: (worker) => kill(worker, "sh -c \\[ \\$AIMI_STORY_ID"),
  },
  {
    title: "attach, and then the agent",
    runtimes: ["runc"],
    strike: async (worker, line) => {
      await kill(worker, "/opt/aimi/node .*adapter.mjs attach");
      await line.closed;
      await kill(worker, "/opt/aimi/node .*adapter.mjs play");
    },
  },
  {
    title: "the client of attach, and then the agent",
    runtimes: ["runc"],
    strike: async (worker, line) => {
      await line[Symbol.asyncDispose]();
      await eventually("attach ends with its client", async () =>
        (await worker.run(["pgrep", "-f", "adapter.mjs attach"])).code === 1 ? true : null,
      );
      await kill(worker, "/opt/aimi/node .*adapter.mjs play");
    },
  },
  {
    title: "the supervisor",
    runtimes: both,
    strike: (worker) => kill(worker, "/opt/aimi/node .*adapter.mjs supervise"),
    ends: 137,
  },
  {
    title: "the container",
    runtimes: both,
    strike: (worker) => worker.containers.stop(worker.id, { graceMs: 0 }),
    ends: 137,
  },
  { title: "the container, which is lost", runtimes: both, strike: (worker) => worker.replace() },
];

describe("kill -9", () => {
  for (const { title, runtimes: kinds, request = waiting, strike, ends } of strikes.slice(
    -count.killedProcesses,
  ))
    for (const runtime of kinds)
      test.skipIf(!runtimes.includes(runtime))(`of ${title} under ${runtime} loses nothing`, async () => {
        await using worker = await startWorker(engine, { runtime });
        const host = new SteadyHost(worker, request(worker));
        await using before = await host.join();
        await before.until(isSaying("in the tool"));
        await untilSnapshot(worker, { storyId: "US-002", path: "half.txt" });

        await strike(worker, before);
        if (ends !== undefined) expect(await worker.ended()).toBe(ends);
        host.keep(before);
        await using after = await host.join();
        const { payload } = await host.finish(after);

        expect(payload).toMatchObject({ status: "completed", errors: [] });
        expect(host.fileOf("whole.txt")).toBe("half\n");
        expect(host.fileOf("first.txt")).toBe("first\n");
        expect(host.statuses().filter((each) => each.endsWith("completed"))).toEqual([
          "US-001 completed",
          "US-002 completed",
        ]);
      });
});

/** Forks and ends, again and again: whoever looks for it finds it gone. */
const chain = `import os
if os.fork(): os._exit(0)
os.setsid()
beat = os.open("/tmp/beat", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while True:
    if os.fork(): os._exit(0)
    os.write(beat, b".")`;

const leavings = `rm -f /tmp/beat
python3 -c "$1"
until [ -s /tmp/beat ]; do :; done
echo done > "$AIMI_STORY_ID.txt"
[ $AIMI_STORY_ID = US-001 ] || exit 0
setsid sleep 1000 &
(setsid sh -c 'while :; do echo >> /tmp/beat; sleep 0.01; done' &)
(sh -c 'trap "" INT TERM HUP; sleep 1001' & )`;

/** Something that still ran would go on with its file, or be seen. */
const nothingRuns = `before=$(stat -c %s /tmp/beat); ps -eo pid,uid,args; sleep 0.3
[ "$before" = "$(stat -c %s /tmp/beat)" ] && ! pgrep -f "^sleep 100" && ! pgrep python3`;

describe("what an agent leaves running", () => {
  for (const runtime of both)
    test.skipIf(!runtimes.includes(runtime))(
      `is ended before its checks under ${runtime}, in whatever session and however fast it forks`,
      async () => {
        await using worker = await startWorker(engine, { runtime });
        const stories = ["US-001", "US-002", "US-003"].map((id) => story(id));
        const agent = { kind: "command" as const, command: ["sh", "-c", leavings, "sh", chain] };
        const host = new SteadyHost(
          worker,
          scripted(worker, {}, { stories, agent, verify: [nothingRuns], limits: { maxRepairs: 0 } }),
        );

        await using line = await host.join();
        const { payload } = await host.finish(line);

        expect(payload).toMatchObject({ status: "completed", errors: [] });
      },
    );

  test("outlives its process group", async () => {
    await using worker = await startWorker(engine);
    const killGroup = `setsid sh -c "setsid sleep 777 & exec sleep 778" >/dev/null 2>&1 & leader=$!
      until pgrep -f "^sleep 777" && pgrep -f "^sleep 778"; do :; done
      kill -s KILL -- -$leader; wait $leader; ! pgrep -f "^sleep 778" && pgrep -f "^sleep 777"`;

    expect((await worker.run(["sh", "-c", killGroup], "1000:1000")).code).toBe(0);

    const host = new SteadyHost(worker, scripted(worker, { "US-001": [{ run: ["sh", "-c", lonely] }] }));
    await using line = await host.join();
    expect((await host.finish(line)).payload).toMatchObject({ status: "completed", errors: [] });
  });
});

const lonely = '! pgrep -f "^sleep 777" && echo alone > alone.txt';

test("work that is not committed is lost with a container for the time between two snapshots at most", async () => {
  await using worker = await startWorker(engine);
  const tick = "mkdir beats; echo in the tool; while :; do : > beats/$(date +%s%3N); sleep 0.02; done";
  const request = scripted(
    worker,
    {
      "US-001": [
        { run: ["sh", "-c", tick] },
        { onRepair: [{ run: ["sh", "-c", "ls beats | tail -n 1 > newest.txt"] }] },
      ],
    },
    { limits: { snapshotMs } },
  );
  const host = new SteadyHost(worker, request);
  await using before = await host.join();
  await before.until(isSaying("in the tool"));
  const newest = async (): Promise<number> => {
    if ((await readSnapshot(worker, { storyId: "US-001", path: "beats" })) === null) return 0;
    return Number(
      git(worker.repository, "ls-tree", "--name-only", "refs/fetched:beats").trim().split("\n").at(-1),
    );
  };
  const first = await eventually("a first snapshot", async () => (await newest()) || null);
  await eventually("a later one", async () => ((await newest()) > first + snapshotMs ? true : null));

  const lostAt = Date.now();
  const kept = await newest();
  await worker.replace();
  host.keep(before);
  await using after = await host.join();
  await host.finish(after);

  // Beside the time between two, the time that one takes.
  expect(lostAt - kept).toBeLessThan(snapshotMs + 2_000);
  expect(Number(host.fileOf("newest.txt"))).toBeGreaterThanOrEqual(kept);
});

const eatMemory = "x = b'x' * (700 << 20)";
const small = { memoryBytes: 256 * MiB, swapBytes: 0 };

describe("a sandbox without memory left", () => {
  const limits = { attempts: 1, maxRepairs: 0 };
  test.for([
    { where: "the agent", script: [{ run: ["python3", "-c", eatMemory] }], verify: [] },
    { where: "a check", script: [], verify: [`python3 -c "${eatMemory}"`] },
  ])("fails the story of $where by name and goes on with the next", async ({ script, verify }) => {
    await using worker = await startWorker(engine, { limits: small });
    const half = { write: { path: "half.txt", content: "half\n" } };
    const request = scripted(
      worker,
      { "US-001": [half, ...script], "US-002": [{ write: { path: "next.txt", content: "next\n" } }] },
      { limits, stories: [story("US-001", { verify }), story("US-002")] },
    );
    const host = new SteadyHost(worker, request);

    await using line = await host.join();
    const { payload } = await host.finish(line);

    const failed = host.kept.find(
      ({ type, payload: said }) => type === "progress-update" && said.status === "failed",
    );
    expect(failed?.payload).toMatchObject({ reason: { code: "CONTAINER_OOM" } });
    expect(failed?.payload).toHaveProperty("failedWork");
    expect(payload.status).toBe("failed");
    expect(host.statuses().at(-1)).toBe("US-002 completed");
  });

  for (const runtime of both.slice(1))
    test.skipIf(!runtimes.includes(runtime))(
      `under ${runtime} ends as a whole, and goes on when it is started again`,
      async () => {
        await using worker = await startWorker(engine, { runtime, limits: small });
        const host = new SteadyHost(
          worker,
          scripted(worker, {
            "US-001": [
              { write: { path: "half.txt", content: "half\n" } },
              { run: ["python3", "-c", eatMemory] },
              { onRepair: [{ run: ["cp", "half.txt", "whole.txt"] }] },
            ],
          }),
        );
        await using before = await host.join();

        expect(await worker.ended()).toBe(137);
        host.keep(before);
        await using after = await host.join();
        const { payload } = await host.finish(after);

        expect(payload.status).toBe("completed");
      },
    );
});

/** Breaks when it sees that time was lost, like a call whose other side gave up. */
const breaking = `[ "$AIMI_CONTINUES" ] && { echo again > again.txt; exit; }
last=$(date +%s); echo in the tool
while sleep 0.1; do now=$(date +%s); [ $((now - last)) -gt 5 ] && exit 7; last=$now; done`;
const pauseMs = 10_600;

describe.concurrent("a frozen sandbox", () => {
  for (const runtime of both)
    test.skipIf(!runtimes.includes(runtime))(
      `under ${runtime} loses no time to its limits, and a broken call costs no try`,
      async ({ expect: expectHere }) => {
        await using worker = await startWorker(engine, { runtime });
        const request = scripted(
          worker,
          {},
          {
            stories: [story("US-001")],
            agent: { kind: "command", command: ["sh", "-c", breaking] },
            limits: { storyMs: 8_000, idleMs: 6_000, attempts: 1 },
          },
        );
        const host = new SteadyHost(worker, request);
        await using line = await host.join();
        await line.until(isSaying("in the tool"));

        await worker.containers.pause(worker.id);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        await worker.containers.unpause(worker.id);
        await line.send("resumed", { pausedMs: pauseMs });
        const { payload } = await host.finish(line);

        expectHere(payload).toMatchObject({ status: "completed", errors: [] });
      },
    );
});

test("an agent that does not stop when it is asked to is ended, and its task goes on later, any number of times", async () => {
  await using worker = await startWorker(engine);
  const stubborn = "trap '' INT TERM; echo half > half.txt; echo in the tool; while :; do sleep 0.01; done";
  const request = waiting(worker, {
    agent: {
      kind: "command",
      command: ["sh", "-c", `[ -e enough.txt ] && { mv enough.txt whole.txt; exit; }; ${stubborn}`],
    },
    taskFile: {
      schemaVersion: "3.0",
      metadata: { title: "feat: work", branchName: "feat/work" },
      userStories: [story("US-002")],
    },
  });
  const host = new SteadyHost(worker, request);

  for (let times = 1; times <= 5; times += 1) {
    const known = host.kept.length;
    await using line = await host.join();
    const isNew = ({ seq }: { readonly seq?: number }): boolean => (seq ?? 0) > known;
    await line.until((message) => isNew(message as never) && isSaying("in the tool")(message));
    await line.send("cancel", { reason: "user", graceMs: 50 });
    const stopped = await line.until(
      (message) => isNew(message as never) && ["completion", "error"].includes(message.type),
    );
    host.keep(line);
    expect(stopped).toMatchObject({ type: "completion", payload: { status: "stopped" } });
    await line.send("ack", { seq: host.kept.length });
    expect(await worker.ended()).toBe(143);
  }
  await worker.start();
  await worker.run(["touch", "/workspace/enough.txt"], "1000:1000");
  await using last = await host.join();
  const end = await last.until(
    ({ type, payload }) => type === "error" || (type === "completion" && payload.status !== "stopped"),
  );
  host.keep(last);

  expect(end.payload).toMatchObject({ status: "completed", errors: [] });
});
