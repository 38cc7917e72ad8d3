import { describe, expect, inject, test } from "vitest";
import type { AcpMessage, TaskRequestPayload } from "../../../src/contract/acp.ts";
import type { ContainerFacts } from "../../../src/engine/containers.ts";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import { judgeEndedAttempt } from "../../../src/state/rules/reconcile-records.ts";
import { count } from "../../counts.ts";
import { dockerAt, openEngine } from "../../fakes/engine/engine-at.ts";
import { eventually } from "../../fakes/eventually.ts";
import { type Attached, scripted, startWorker, story, type Worker } from "../../fakes/swarm/worker.ts";
import { testLabel } from "../../fakes/test-label.ts";

const engine = openEngine(inject("endpoint"));
const docker = dockerAt(inject("endpoint"));
const { runtimes } = await engine.info();
const available = ["runc", "runsc"].filter((runtime) => runtimes.includes(runtime));
/** Under gVisor the same bombs go off in a whole swarm (`swarm-bombs.test.ts`) with every count. */
const attacked = available.slice(0, count.runtimes);

/** So many programs at once, each of which computes in a thread of its own. */
const busy = (programs: number, seconds: number): string => `
import subprocess, sys
code = '''
import threading, time
end = time.time() + ${seconds}
def work():
    while time.time() < end: sum(range(1000))
thread = threading.Thread(target=work)
thread.start()
thread.join()
'''
running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(${programs})]
sys.exit(any(each.wait() for each in running))`;

const bomb = `
import os
while True:
    try: os.fork()
    except OSError: pass`;

const nothingTold = { completion: null, error: null };
const why = /reached its limit of 512 processes|out of processes/;
const limits = { memoryBytes: 4 * 1024 ** 3 };

/** As words for a shell, whatever is in it. */
function python(code: string): string {
  return `echo ${Buffer.from(code).toString("base64")} | base64 -d | python3 -`;
}

interface Ended {
  /** Of its one story; null where nothing more came of it. */
  readonly end: string | null;
  readonly message: string;
  /** Of its container. */
  readonly code: number;
}

/** To its last message, or the end of its container. The last blow against a bomb hits the line, too, which is made again. */
async function endOf(worker: Worker, agent: string, verify?: readonly string[]): Promise<Ended> {
  const stories = [story("US-001", verify ? { verify: [...verify] } : {})];
  const request = scripted(worker, { "US-001": [{ run: ["sh", "-c", agent] }] }, { stories });
  // gVisor leaves the lines to a sandbox open whose kernel has ended.
  const gone = eventually("its end", async () => codeOf(await worker.containers.inspect(worker.id)), 240_000);
  gone.catch(() => {});
  for (;;) {
    const line = await worker.attach().catch(() => null);
    const last = line && (await Promise.race([lastOf(line, request), gone.then(() => null)]));
    const [progress] = (line?.messages ?? []).flatMap(({ type, payload }) =>
      type === "progress-update" && payload.status !== "in_progress" ? [payload] : [],
    );
    if (line && last) await line.send("ack", { seq: "seq" in last ? last.seq : 0 });
    const code = last ? await gone : codeOf(await worker.containers.inspect(worker.id));
    if (line) void Promise.resolve(line[Symbol.asyncDispose]()).catch(() => {});
    if (code === null) continue;
    const { status, reason } = progress ?? {};
    return {
      end: reason ? `${status} ${reason.code}` : (status ?? null),
      message: reason?.message ?? "",
      code,
    };
  }
}

function codeOf(facts: ContainerFacts | null): number | null {
  return facts?.state === "exited" ? facts.exitCode : null;
}

async function lastOf(line: Attached, request: TaskRequestPayload): Promise<AcpMessage | null> {
  await line.send("task-request", request);
  return line.until(({ type }) => type === "completion" || type === "error").catch(() => null);
}

describe.each(attacked)("under %s, with the limits that a worker has", (runtime) => {
  test("fifty busy programs of an agent, and a hundred of its check, do their work", async () => {
    await using worker = await startWorker(engine, { runtime, limits });

    const end = await endOf(worker, `${python(busy(50, count.busySeconds))} && echo done > a.txt`, [
      python(busy(100, count.busySeconds)),
    ]);

    expect(end).toEqual({ end: "completed", message: "", code: 0 });
  });

  const forkBombs: readonly [of: string, agent: string, verify: string[] | undefined][] = [
    ["an agent", bomb, undefined],
    ["a check", "", [python(bomb)]],
  ];
  test.each(forkBombs.slice(0, count.forkBombs))(
    "a fork bomb of %s is told as what it is",
    async (_name, agent, verify) => {
      await using worker = await startWorker(engine, { runtime, limits });

      const { end, message, code } = await endOf(worker, `echo a > a.txt; ${agent && python(agent)}`, verify);

      // Where the bomb is faster than the supervisor, gVisor's kernel ends: the owner knows that by its code.
      const told =
        end ?? judgeEndedAttempt({ exitCode: code, oomKilled: false, runtime, processes: null }, nothingTold);
      expect(typeof told === "string" ? told : `${told.status} ${told.reason?.code}`).toBe(
        "failed PROCESSES_EXHAUSTED",
      );
      if (runtime === "runc")
        expect({ code, message }).toEqual({ code: 1, message: expect.stringMatching(why) });
    },
  );
});

if (attacked.includes("runsc"))
  test("control: gVisor with no more than 512 threads of its own ends under fifty busy programs, by code 2 alone", async () => {
    const container = await docker.createContainer({
      ...{ Image: baseImage, Cmd: ["sh", "-c", python(busy(50, 60))], User: "1000:1000" },
      Labels: { [testLabel]: "control" },
      HostConfig: { Runtime: "runsc", PidsLimit: 512, NetworkMode: "none", Init: true },
    });
    try {
      await container.start();
      const { StatusCode } = await container.wait();
      const { State } = await container.inspect();

      expect({ StatusCode, isOutOfMemory: State.OOMKilled }).toEqual({ StatusCode: 2, isOutOfMemory: false });
    } finally {
      await container.remove({ force: true });
    }
  });
