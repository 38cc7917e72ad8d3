import { describe, inject, test } from "vitest";
import { count } from "../../counts.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { type Attached, scripted, startWorker, type Worker } from "../../fakes/swarm/worker.ts";

const engine = openEngine(inject("endpoint"));
const { runtimes } = await engine.info();
const trackedFiles = count.preparedFiles;

const stops: Readonly<Record<string, (worker: Worker, line: Attached) => Promise<unknown>>> = {
  "a cancel": (_worker, line) => line.send("cancel", { reason: "asked to stop", graceMs: 10_000 }),
  "the engine": (worker) => worker.containers.stop(worker.id, { graceMs: 10_000 }),
};

/** A git that never ends: it reads its settings out of a pipe that nothing writes to. */
const pipe = "/workspace/.git/config";
const holdGit = (worker: Worker) =>
  worker.run(["sh", "-c", 'mkdir "${1%/*}" && mkfifo "$1"', "sh", pipe], "1000:1000");
const freeGit = (worker: Worker) =>
  worker.run(["sh", "-c", '[ ! -p "$1" ] || rm -r "${1%/*}"', "sh", pipe], "1000:1000");

const moments: Readonly<Record<string, (worker: Worker) => Promise<unknown>>> = {
  "as soon as it is asked": async () => {},
  "while git hangs": async () => {},
  "while its files are written": (worker) =>
    worker.run(["sh", "-c", "until [ -e /workspace/many ]; do :; done"], "1000:1000"),
};

/** Five seconds, and what a busy machine takes besides. */
const maxMs = 15_000;
const rows = [
  ["runc", "a cancel", "while git hangs"],
  ["runc", "the engine", "while its files are written"],
  ["runc", "a cancel", "while its files are written"],
  ["runc", "a cancel", "as soon as it is asked"],
  ["runsc", "a cancel", "while its files are written"],
  ["runsc", "the engine", "as soon as it is asked"],
] as const;

describe.concurrent("a worker that is stopped while it is prepared", () => {
  test.for(rows.slice(0, count.preparationStops).filter(([runtime]) => runtimes.includes(runtime)))(
    "under %s by %s, %s, goes on to its end later",
    async ([runtime, by, moment], { expect: expected }) => {
      await using worker = await startWorker(engine, { runtime, trackedFiles });
      // It fails where a file is missing, or the work does not begin at the base.
      const isWhole = `[ "$(git status --porcelain)$(git rev-parse HEAD)" = ${worker.base} ]`;
      const steps = `until [ -e ~/go ]; do sleep 0.1; done; ${isWhole} && echo a > a.txt`;
      const request = scripted(worker, { "US-001": [{ run: ["sh", "-c", steps] }] });
      if (moment === "while git hangs") await holdGit(worker);
      await using line = await worker.attach();
      await line.send("task-request", request);
      await line.until(
        ({ type, payload }) => type === "hello" && "phase" in payload && payload.phase === "preparing",
      );
      await moments[moment]?.(worker);

      const stoppedAt = performance.now();
      const stopping = stops[by]?.(worker, line);
      const last = await line.until(({ type }) => type === "completion" || type === "error");
      const answerMs = performance.now() - stoppedAt;
      await line.send("ack", { seq: "seq" in last ? last.seq : 0 });
      expected(last).toMatchObject({ type: "completion", payload: { status: "stopped", errors: [] } });
      expected(await worker.ended()).toBe(143);
      await stopping;
      expected(answerMs).toBeLessThan(maxMs);
      await worker.start();
      await freeGit(worker);
      await worker.run(["touch", "/home/agent/go"], "1000:1000");
      await using again = await worker.attach("seq" in last ? last.seq : 0);
      await again.send("task-request", request);
      const completion = await again.untilType("completion");
      await again.send("ack", { seq: completion.seq });

      expected(completion.payload).toMatchObject({ status: "completed", errors: [] });
      expected(await worker.ended()).toBe(0);
    },
  );
});
