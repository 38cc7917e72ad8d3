import { describe, inject, test } from "vitest";
import type { AcpMessage, StoryProgress, TaskRequestPayload } from "../../../src/contract/acp.ts";
import type { ScriptSteps } from "../../../src/contract/script-agent.ts";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import { findAdapterMessageProblem } from "../../../src/schema/find-message-problem.ts";
import { dockerAt, openEngine } from "../../fakes/engine/engine-at.ts";
import { git } from "../../fakes/git/repository.ts";
import {
  type Attached,
  fetchBundle,
  scripted,
  startWorker,
  story,
  type Worker,
  type WorkerOptions,
} from "../../fakes/swarm/worker.ts";
import { testLabel } from "../../fakes/test-label.ts";

const engine = openEngine(inject("endpoint"));
const docker = dockerAt(inject("endpoint"));
const mebi = 1024 ** 2;
const hour = 3_600_000;

interface Ending {
  readonly code: number;
  readonly last: AcpMessage;
  readonly messages: readonly AcpMessage[];
  /** How each story ended. */
  readonly ends: Readonly<Record<string, string>>;
  readonly progress: Readonly<Record<string, StoryProgress>>;
}

function isLast({ type }: AcpMessage): boolean {
  return type === "completion" || type === "error";
}

async function endOf(worker: Worker, line: Attached): Promise<Ending> {
  const last = await line.until(isLast);
  await line.send("ack", { seq: "seq" in last ? last.seq : 0 });
  for (const message of line.messages) {
    const problem = findAdapterMessageProblem(message);
    if (problem !== null) throw new Error(`${problem}: ${JSON.stringify(message)}`);
  }
  const progress = Object.fromEntries(
    line.messages.flatMap(({ type, payload }) =>
      type === "progress-update" ? [[payload.storyId, payload]] : [],
    ),
  );
  const ends = Object.fromEntries(
    Object.entries(progress).map(([id, { status, reason }]) => [
      id,
      reason ? `${status} ${reason.code}` : status,
    ]),
  );
  return { code: await worker.ended(), last, messages: [...line.messages], ends, progress };
}

/** Sends the request and follows it to its end. */
async function carryOut(
  request: (worker: Worker) => unknown,
  options: WorkerOptions = {},
): Promise<Ending & { readonly name: string }> {
  await using worker = await startWorker(engine, options);
  await using line = await worker.attach();
  await line.send("task-request", request(worker));
  return { ...(await endOf(worker, line)), name: worker.name };
}

const writes: ScriptSteps = [{ write: { path: "a.txt", content: "a\n" } }];
const fails = (shell: string): ScriptSteps => [{ run: ["sh", "-c", shell] }];

describe.concurrent("what keeps a worker from working at all ends it with exit 2 and says why", () => {
  const rows: readonly [code: string, message: RegExp, request: (worker: Worker) => unknown][] = [
    ["REQUEST_INVALID", /required|must have/, () => ({})],
    ["REQUEST_INVALID", /kind parrot/, (worker) => ({ ...scripted(worker, {}), agent: { kind: "parrot" } })],
    [
      "REQUEST_INVALID",
      /script/,
      (worker) => ({
        ...scripted(worker, {}),
        agent: { kind: "script", script: { "US-001": [{ dance: 1 }] } },
      }),
    ],
    [
      "REQUEST_INVALID",
      /branchName/,
      (worker) => scripted(worker, { "US-001": writes }, { branchName: "--upload-pack=x" }),
    ],
    [
      "MISSING_ENV_VAR",
      /claude needs one of/,
      (worker) => scripted(worker, { "US-001": writes }, { agent: { kind: "claude" } }),
    ],
    [
      "TASK_FILE_NOT_FOUND",
      /not contain the file .aimi\/tasks\/none.json/,
      (worker) => {
        const { taskFile: _left, ...request } = scripted(worker, { "US-001": writes });
        return { ...request, taskFilePath: ".aimi/tasks/none.json" };
      },
    ],
    [
      "TASK_FILE_INVALID",
      /schemaVersion|metadata|userStories/,
      (worker) => ({ ...scripted(worker, {}), taskFile: { userStories: [] } }),
    ],
    [
      "TASK_FILE_INVALID",
      /cycle/,
      (worker) =>
        scripted(
          worker,
          {},
          {
            stories: [story("US-001", { dependsOn: ["US-002"] }), story("US-002", { dependsOn: ["US-001"] })],
          },
        ),
    ],
    [
      "GIT_CLONE_FAILED",
      /bundle/,
      (worker) => scripted(worker, { "US-001": writes }, { repoUrl: "bundle:/aimi/in/none.bundle" }),
    ],
    [
      "GIT_CLONE_FAILED",
      /no git repository/,
      (worker) => scripted(worker, { "US-001": writes }, { repoUrl: "image:" }),
    ],
    [
      "GIT_CHECKOUT_FAILED",
      /not in the repository/,
      (worker) => scripted(worker, { "US-001": writes }, { baseCommit: "f0".repeat(20) }),
    ],
    [
      "GIT_CHECKOUT_FAILED",
      /as a branch/,
      (worker) => scripted(worker, { "US-001": writes }, { branchName: "a..b" }),
    ],
    [
      "AGENT_NOT_FOUND",
      /does not contain the program no-such-program/,
      (worker) =>
        scripted(worker, { "US-001": writes }, { agent: { kind: "command", command: ["no-such-program"] } }),
    ],
  ];

  test.for(rows)("%s: %s", async ([code, message, request], { expect: expected }) => {
    const { last, code: exit } = await carryOut(request);

    expected({ exit, last }).toMatchObject({ exit: 2, last: { type: "error", seq: 1, payload: { code } } });
    expected((last.payload as { message: string }).message).toMatch(message);
  });

  test("UNKNOWN_ERROR for what nobody foresaw", async ({ expect: expected }) => {
    await using worker = await startWorker(engine);
    await using line = await worker.attach();
    await line.untilType("hello");
    await worker.run(["sh", "-c", "rm -r /aimi/out && touch /aimi/out"], "0:0");

    await line.send("task-request", scripted(worker, { "US-001": writes }));
    const { last, code } = await endOf(worker, line);

    expected({ code, last }).toMatchObject({
      code: 2,
      last: { type: "error", payload: { code: "UNKNOWN_ERROR" } },
    });
  });

  test("TASK_FILE_INVALID for a file in the repository that is no JSON", async ({ expect: expected }) => {
    await using worker = await startWorker(engine);
    await using line = await worker.attach();
    const { taskFile: _left, ...request } = scripted(worker, { "US-001": writes });
    await worker.run(["sh", "-c", "echo nothing > /tmp/none.json"], "1000:1000");

    await line.send("task-request", { ...request, taskFilePath: "../tmp/none.json" });
    const { last, code } = await endOf(worker, line);

    expected({ code, last }).toMatchObject({ code: 2, last: { payload: { code: "TASK_FILE_INVALID" } } });
  });
});

describe.concurrent("what a story fails by is its reason, and the worker's exit is 1", () => {
  const rows: readonly [
    code: string,
    message: RegExp,
    script: ScriptSteps,
    changes?: Partial<TaskRequestPayload>,
    verify?: string[],
  ][] = [
    ["AGENT_CRASH", /code 7/, [...writes, { exit: 7 }]],
    ["AGENT_CRASH", /code 137/, fails("kill -KILL $PPID")],
    ["AGENT_STALLED", /wrote nothing/, [{ sleepMs: hour }], { limits: { idleMs: 1_500, attempts: 1 } }],
    [
      "AGENT_LIMIT_REACHED",
      /story reached its time limit/,
      [{ sleepMs: hour }],
      { limits: { storyMs: 1_500 } },
    ],
    [
      "AGENT_LIMIT_REACHED",
      /task reached its time limit/,
      [{ sleepMs: hour }],
      { limits: { wallClockMs: 1_500 } },
    ],
    [
      "VERIFY_FAILED",
      /`exit 3` failed after 1 repair: exit 3/,
      writes,
      { limits: { maxRepairs: 1 } },
      ["true", "exit 3"],
    ],
    [
      "VERIFY_FAILED",
      /its time limit of 1 s/,
      writes,
      { limits: { maxRepairs: 0, checkMs: 1_000 } },
      ["sleep 600"],
    ],
    ["NOTHING_CHANGED", /the agent changed nothing/, [{ say: "done!" }]],
    [
      "CONTAINER_OOM",
      /memory/,
      fails('exec python3 -c "x = bytearray(2 * 1024 ** 3)"'),
      { limits: { attempts: 1 } },
    ],
    [
      "CONTAINER_OOM",
      /out of memory/,
      writes,
      { limits: { maxRepairs: 0 } },
      ['python3 -c "x = bytearray(2 * 1024 ** 3)"'],
    ],
    [
      "HISTORY_REWRITTEN",
      /no longer contains/,
      fails("git -c user.name=a -c user.email=a@x commit --quiet --amend --allow-empty -m other"),
    ],
  ];

  test.for(rows)("%s: %s", async ([code, message, script, changes = {}, verify], { expect: expected }) => {
    const {
      ends,
      progress,
      last,
      code: exit,
    } = await carryOut(
      (worker) =>
        scripted(
          worker,
          { "US-001": script },
          { stories: [story("US-001", verify ? { verify } : {})], ...changes },
        ),
      { limits: { memoryBytes: 512 * mebi } },
    );

    expected({ exit, ends }).toEqual({ exit: 1, ends: { "US-001": `failed ${code}` } });
    expected(progress["US-001"]?.reason?.message).toMatch(message);
    expected(last).toMatchObject({
      type: "completion",
      payload: { status: "failed", errors: [expected.stringMatching(message)] },
    });
  });

  test("a program that writes nothing but computes is not idle", async ({ expect: expected }) => {
    // An eighth of one processor is enough within the limit, however busy the machine is.
    const busy = fails(
      "python3 -c 'import time\nend = time.time() + 9\nwhile time.time() < end: pass'; echo 1 > a.txt",
    );

    const { ends } = await carryOut((worker) =>
      scripted(worker, { "US-001": busy }, { limits: { idleMs: 8_000, attempts: 1 } }),
    );

    expected(ends).toEqual({ "US-001": "completed" });
  });

  test("an agent that asks without an end and reads nothing is ended, and its supervisor stays small", async ({
    expect: expected,
  }) => {
    const asks = 'import itertools\nfor id in itertools.count(): print(\'{"id":%d,"method":"x"}\' % id)';
    await using worker = await startWorker(engine);
    await using line = await worker.attach();
    const agent = { kind: "acp" as const, command: ["python3", "-c", asks] };
    await line.send("task-request", scripted(worker, { "US-001": [] }, { agent, limits: { attempts: 1 } }));
    await line.untilType("completion");
    const { text } = await worker.run([
      ...["sh", "-c", "grep VmHWM /proc/$(pgrep -of 'adapter.mjs supervise')/status"],
    ]);
    const { ends, progress, code } = await endOf(worker, line);

    expected({ ends, code }).toEqual({ ends: { "US-001": "failed AGENT_CRASH" }, code: 1 });
    expected(progress["US-001"]?.reason?.message).toMatch(
      /the agent sends requests but does not read the answers/,
    );
    expected(Number(/(\d+) kB/.exec(text)?.[1])).toBeLessThan(200_000);
  });

  test("a story whose agent broke is tried again, with what it had changed", async ({ expect: expected }) => {
    const { ends, messages } = await carryOut((worker) =>
      scripted(worker, {
        "US-001": [...writes, { exit: 1 }, { onRepair: fails("grep a a.txt && echo b > b.txt") }],
      }),
    );

    expected(ends).toEqual({ "US-001": "completed" });
    expected(messages.filter(({ type }) => type === "progress-update")).toHaveLength(2);
  });
});

describe.concurrent("the order and the outcome of stories", () => {
  test("dependencies, then priority, then id; dependants of a failed one are skipped, the others are not", async ({
    expect: expected,
  }) => {
    const stories = [
      story("US-005", { priority: 1 }),
      story("US-004", { priority: 1 }),
      story("US-001", { priority: 0, dependsOn: ["US-005"] }),
      story("US-002", { priority: 2, dependsOn: ["US-003"] }),
      story("US-003", { priority: 9 }),
      story("US-006", { priority: 0, dependsOn: ["US-002"] }),
      story("US-007", { priority: 10 }),
    ];
    const script = Object.fromEntries(
      stories.map(({ id }) => [id, [{ write: { path: `${id}.txt`, content: id } }]]),
    );

    const { ends, messages, code, last } = await carryOut((worker) =>
      scripted(worker, { ...script, "US-003": [{ exit: 1 }] }, { stories, limits: { attempts: 1 } }),
    );

    const begun = messages.flatMap(({ type, payload }) =>
      type === "progress-update" && payload.status === "in_progress" ? [payload.storyId] : [],
    );
    expected(begun).toEqual(["US-004", "US-005", "US-001", "US-003", "US-007"]);
    expected(ends).toEqual({
      ...{ "US-004": "completed", "US-005": "completed", "US-001": "completed", "US-007": "completed" },
      ...{
        "US-003": "failed AGENT_CRASH",
        "US-002": "skipped DEPENDENCY_FAILED",
        "US-006": "skipped DEPENDENCY_FAILED",
      },
    });
    expected({ code, last }).toMatchObject({ code: 1, last: { payload: { status: "failed" } } });
  });

  test("nothing to change is fine where a check says so, or the story does", async ({ expect: expected }) => {
    const { ends, progress, code, last } = await carryOut((worker) =>
      scripted(
        worker,
        { "US-001": [{ say: "already" }], "US-002": [{ say: "nothing" }] },
        {
          stories: [
            story("US-001", { verify: ["test -e README.md"] }),
            story("US-002", { mayBeEmpty: true }),
          ],
        },
      ),
    );

    expected({ ends, code }).toEqual({ ends: { "US-001": "completed", "US-002": "completed" }, code: 0 });
    expected(progress["US-001"]).toMatchObject({
      commit: null,
      output: expected.stringContaining("already met"),
    });
    expected(progress["US-002"]).toMatchObject({ commit: null });
    expected(last).toMatchObject({ payload: { status: "completed", bundle: null, errors: [] } });
  });

  test("what earlier attempts finished is not done again, and its dependants are", async ({
    expect: expected,
  }) => {
    const { ends, code } = await carryOut((worker) =>
      scripted(
        worker,
        { "US-001": [{ exit: 1 }], "US-002": writes },
        {
          stories: [story("US-001"), story("US-002", { dependsOn: ["US-001"] })],
          done: [{ storyId: "US-001", commit: worker.base }],
        },
      ),
    );

    expected({ ends, code }).toEqual({ ends: { "US-002": "completed" }, code: 0 });
  });

  test("a failed story's work is kept beside the branch", async ({ expect: expected }) => {
    await using worker = await startWorker(engine);
    await using line = await worker.attach();
    await line.send(
      "task-request",
      scripted(
        worker,
        { "US-001": [...writes, { exit: 1 }], "US-002": fails("ls > b.txt") },
        { limits: { attempts: 1 } },
      ),
    );
    const { seq } = await line.untilType("completion");
    const failed = await worker.read("/aimi/out/failed-US-001.bundle");
    const work = await worker.read("/aimi/out/work.bundle");
    await line.send("ack", { seq });

    fetchBundle(worker.repository, failed, "refs/aimi/failed/US-001");
    expected(git(worker.repository, "show", "refs/fetched:a.txt")).toBe("a\n");
    fetchBundle(worker.repository, work, "refs/heads/feat/work");
    expected(git(worker.repository, "show", "refs/fetched:b.txt")).toBe("README.md\nb.txt\n");
  });
});

describe.concurrent("a different request", () => {
  test("is REQUEST_CONFLICT for its asker alone, and the work goes on", async ({ expect: expected }) => {
    await using worker = await startWorker(engine);
    await using line = await worker.attach();
    const request = scripted(worker, {
      "US-001": [
        { say: "waiting" },
        { run: ["sh", "-c", "until [ -e /tmp/go ]; do sleep 0.05; done; echo 1 > a.txt"] },
      ],
    });
    await line.send("task-request", request);
    await line.untilType("activity");
    await using other = await worker.attach();

    await other.send("task-request", { ...request, branchName: "feat/other" });
    const answer = await other.untilType("error");
    await line.send("task-request", request);
    await worker.run(["touch", "/tmp/go"], "1000:1000");
    const { code, ends, messages } = await endOf(worker, line);

    expected(answer.payload.code).toBe("REQUEST_CONFLICT");
    expected(answer).not.toHaveProperty("seq");
    expected(messages.filter(({ type }) => type === "error")).toEqual([]);
    expected({ code, ends }).toEqual({ code: 0, ends: { "US-001": "completed" } });
  });
});

describe.concurrent("whoever is stopped goes on later", () => {
  const stops: readonly [name: string, stop: (worker: Worker, line: Attached) => Promise<void>][] = [
    ["by a cancel", (_worker, line) => line.send("cancel", { reason: "enough for today", graceMs: 100 })],
    ["by the engine", (worker) => worker.containers.stop(worker.id, { graceMs: 10_000 })],
  ];

  test.for(stops)(
    "%s: exit 143, and after a start it is carried out to the end",
    async ([, stop], { expect: expected }) => {
      await using worker = await startWorker(engine);
      const request = scripted(worker, {
        "US-001": writes,
        "US-002": [
          { write: { path: "half.txt", content: "half\n" } },
          { say: "waiting" },
          { sleepMs: hour },
          { onRepair: fails("grep half half.txt && echo whole > half.txt") },
        ],
      });
      await using line = await worker.attach();
      await line.send("task-request", request);
      await line.until(
        ({ type, payload }) => type === "activity" && "summary" in payload && payload.summary === "waiting",
      );

      const stopping = stop(worker, line);
      const first = await endOf(worker, line);
      await stopping;
      expected(first).toMatchObject({
        code: 143,
        last: { type: "completion", payload: { status: "stopped", errors: [] } },
      });
      await worker.start();
      await using again = await worker.attach(first.messages.filter((message) => "seq" in message).length);
      const hello = await again.untilType("hello");
      await again.send("task-request", request);
      const second = await endOf(worker, again);

      expected(first.ends).toEqual({ "US-001": "completed", "US-002": "in_progress" });
      expected(hello.payload).toMatchObject({
        phase: "waiting",
        lastSeq: first.messages.filter((message) => "seq" in message).length,
      });
      expected(second).toMatchObject({
        code: 0,
        ends: { "US-002": "completed" },
        last: { payload: { status: "completed" } },
      });
    },
  );

  test("a cancel before the request ends it at once", async ({ expect: expected }) => {
    await using worker = await startWorker(engine);
    await using line = await worker.attach();
    await line.untilType("hello");

    await line.send("cancel", { reason: "changed my mind", graceMs: 0 });

    expected(await worker.ended()).toBe(143);
  });

  test("an attempt that came to its end is only told again", async ({ expect: expected }) => {
    await using worker = await startWorker(engine);
    const request = scripted(worker, { "US-001": [...writes, { exit: 1 }] }, { limits: { attempts: 1 } });
    await using line = await worker.attach();
    await line.send("task-request", request);
    const first = await endOf(worker, line);
    await worker.start();
    await using again = await worker.attach();
    await again.send("task-request", request);
    const second = await endOf(worker, again);

    expected([first.code, second.code]).toEqual([1, 1]);
    expected(second.messages.filter((message) => "seq" in message)).toEqual(
      first.messages.filter((message) => "seq" in message),
    );
  });
});

describe.concurrent("a full disk is DISK_FULL", () => {
  test("when the home folder holds more than it may", async ({ expect: expected }) => {
    const { last, code, ends } = await carryOut((worker) =>
      scripted(
        worker,
        { "US-001": [{ run: ["sh", "-c", "head -c 3000000 /dev/zero > ~/ballast"] }, { sleepMs: hour }] },
        {
          limits: { homeBytes: mebi },
        },
      ),
    );

    expected({ code, ends, last }).toMatchObject({
      ...{ code: 2, ends: { "US-001": "failed DISK_FULL" } },
      last: {
        type: "error",
        payload: { code: "DISK_FULL", message: expected.stringContaining("more than its limit of 1 MiB") },
      },
    });
  });

  test("when the journal's own volume is full, and the last messages are still written", async ({
    expect: expected,
  }) => {
    // As startWorker names it; made before, it is a small one in memory.
    const swarmId = crypto.randomUUID();
    const name = `aimi-test-${swarmId.slice(0, 8)}`;
    await docker.createVolume({
      ...{ Name: name, Driver: "local", Labels: { [testLabel]: "worker" } },
      DriverOpts: { type: "tmpfs", device: "tmpfs", o: "size=8m" },
    });
    // What is in it lasts only while a container has it.
    const keeper = await docker.createContainer({
      ...{ Image: baseImage, Cmd: ["sleep", "3600"], Labels: { [testLabel]: "keeper" } },
      HostConfig: { Binds: [`${name}:/kept`], Init: true },
    });
    await keeper.start();
    // Before the worker removes its volumes.
    const release = () => keeper.remove({ force: true });
    await using worker = await startWorker(engine, { swarmId });
    await using undo = new AsyncDisposableStack();
    undo.defer(release);
    await using line = await worker.attach();
    const request = scripted(worker, {
      "US-001": [
        ...writes,
        { say: "waiting" },
        { run: ["sh", "-c", "until [ -e /tmp/go ]; do sleep 0.05; done; while :; do echo more; done"] },
      ],
    });
    await line.send("task-request", request);
    await line.untilType("activity");
    await worker.run(["sh", "-c", "head -c 20000000 /dev/zero > /aimi/ballast; ls -l /aimi/reserve"], "0:0");
    await worker.run(["touch", "/tmp/go"], "1000:1000");
    const { last, code, messages } = await endOf(worker, line);

    expected({ code, last }).toMatchObject({
      code: 2,
      last: { type: "error", payload: { code: "DISK_FULL" } },
    });
    const seqs = messages.flatMap((message) => ("seq" in message && message.seq ? [message.seq] : []));
    expected(seqs).toEqual(seqs.map((_seq, index) => index + 1));
  });
});
