import { describe, expect, inject, test } from "vitest";
import type { AcpMessage, TaskRequestPayload } from "../../src/domain/generated/acp.ts";
import { dockerAt, openEngine } from "../fakes/engine-at.ts";
import { eventually } from "../fakes/eventually.ts";
import { type Attached, scripted, startWorker, story, type Worker } from "../fakes/worker.ts";

const engine = openEngine(inject("endpoint"));
const docker = dockerAt(inject("endpoint"));
const { runtimes } = await engine.info();
const available = ["runc", "runsc"].filter((runtime) => runtimes.includes(runtime));

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

const limits = { memoryBytes: 4 * 1024 ** 3 };

/** As words for a shell, whatever is in it. */
function python(code: string): string {
  return `echo ${Buffer.from(code).toString("base64")} | base64 -d | python3 -`;
}

/** To its last message. The last blow against a bomb hits the line, too, which is made again. */
async function follow(
  worker: Worker,
  request: TaskRequestPayload,
): Promise<{ readonly line: Attached; readonly last: AcpMessage }> {
  for (;;) {
    const line = await worker.attach();
    await line.send("task-request", request);
    const last = await line.until(({ type }) => type === "completion" || type === "error").catch(() => null);
    if (last) return { line, last };
    await line[Symbol.asyncDispose]();
  }
}

/** How its one story ended, and its container. */
async function endOf(
  worker: Worker,
  agent: string,
  changes: Partial<TaskRequestPayload> & { readonly verify?: string[] } = {},
): Promise<{ end: string; message: string; code: number }> {
  const { verify, ...more } = changes;
  const request = scripted(
    worker,
    { "US-001": [{ run: ["sh", "-c", agent] }] },
    { stories: [story("US-001", verify ? { verify } : {})], ...more },
  );
  const { line, last } = await follow(worker, request);
  await using _line = line;
  await line.send("ack", { seq: "seq" in last ? last.seq : 0 });
  const [progress] = line.messages.flatMap(({ type, payload }) =>
    type === "progress-update" && payload.status !== "in_progress" ? [payload] : [],
  );
  const { status, reason } = progress ?? {};
  return {
    end: reason ? `${status} ${reason.code}` : `${status}`,
    message: reason?.message ?? "",
    code: await worker.ended(),
  };
}

describe.each(available)("under %s, with the limits that a worker has", (runtime) => {
  test("fifty busy programs of an agent, and a hundred of its check, do their work", async () => {
    await using worker = await startWorker(engine, { runtime, limits });

    const end = await endOf(worker, `${python(busy(50, 5))} && echo done > a.txt`, {
      verify: [python(busy(100, 5))],
    });

    expect(end).toEqual({ end: "completed", message: "", code: 0 });
  });

  test.each([
    ["an agent", bomb, undefined],
    ["a check", "", [python(bomb)]],
  ])("a fork bomb of %s is told as what it is, and ends nothing else", async (_name, agent, verify) => {
    await using worker = await startWorker(engine, { runtime, limits });

    const end = await endOf(worker, `echo a > a.txt; ${agent && python(agent)}`, verify ? { verify } : {});

    expect(end).toEqual({
      ...{ end: "failed PROCESSES_EXHAUSTED", code: 1 },
      message: expect.stringMatching(
        /all 512 processes that the sandbox may have were in use|out of processes/,
      ),
    });
  });
});

describe.skipIf(!available.includes("runsc"))("control: gVisor", () => {
  test("with no more than 512 threads of its own ends under fifty busy programs, and says nothing", async () => {
    await using worker = await startWorker(engine, { runtime: "runsc", limits });
    const container = docker.getContainer(worker.id);
    await container.update({ PidsLimit: 512 });
    await using line = await worker.attach();

    await line.send(
      "task-request",
      scripted(worker, { "US-001": [{ run: ["sh", "-c", python(busy(50, 60))] }] }),
    );
    const { State } = await eventually(
      "its end",
      async () => {
        const facts = await container.inspect();
        return facts.State.Running ? null : facts;
      },
      120_000,
    );

    expect(State).toMatchObject({ Status: "exited", ExitCode: 2, OOMKilled: false });
    expect(line.messages.filter(({ type }) => type === "completion" || type === "error")).toEqual([]);
  });
});
