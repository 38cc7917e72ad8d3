import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, expect, inject, test } from "vitest";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import { count } from "../../counts.ts";
import { specOf } from "../../fakes/engine/containers-suite.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { startProgram } from "../../fakes/machine/processes.ts";

const endpoint = inject("endpoint");
const engine = openEngine(endpoint);
const { runtimes } = await engine.info();
/** The longest that a command may be without an answer. */
const maxMs = 30_000;

interface Told {
  readonly ran: number;
  readonly refused: number;
  readonly maxMs: number;
}

async function beginPrograms(id: string): Promise<{ readonly end: () => Promise<Told> } & AsyncDisposable> {
  const child: ChildProcess = startProgram("engine/begin-programs-process", endpoint, id);
  const { stdout } = child;
  if (stdout === null) throw new Error("it has no output");
  await once(stdout, "readable");
  const all = text(stdout);
  return {
    async end() {
      child.kill("SIGTERM");
      return JSON.parse((await all).replace("ready\n", "")) as Told;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
    },
  };
}

describe.each(["runc", "runsc"])("a container of %s", (runtime) => {
  test.skipIf(!runtimes.includes(runtime))(
    "is paused and goes on, however often, while three other processes begin programs in it",
    { timeout: 40 * 60_000 },
    async () => {
      const { containers } = await engine.open();
      const { id } = await containers.create(specOf(baseImage, runtime, { command: ["sleep", "infinity"] }));
      await using cleanUp = new AsyncDisposableStack();
      // Where it fails, why it went wrong is the reason to tell; what is left behind is told after all tests.
      cleanUp.defer(() => containers.remove(id, AbortSignal.timeout(maxMs)).catch(() => {}));
      await containers.start(id);
      const others = await Promise.all([1, 2, 3].map(() => beginPrograms(id)));
      for (const other of others) cleanUp.use(other);
      let longest = 0;
      const timed = async (act: (signal: AbortSignal) => Promise<void>, round: number): Promise<void> => {
        const begun = performance.now();
        await act(AbortSignal.timeout(maxMs)).catch((cause: unknown) => {
          throw new Error(`round ${round}: ${act}`, { cause });
        });
        longest = Math.max(longest, performance.now() - begun);
      };

      for (let round = 0; round < count.pauseRounds; round += 1) {
        await timed((signal) => containers.pause(id, signal), round);
        await timed(async (signal) => {
          expect((await containers.inspect(id, undefined, signal))?.state).toBe("paused");
        }, round);
        await timed((signal) => containers.unpause(id, signal), round);
      }
      const told = await Promise.all(others.map((other) => other.end()));

      console.info(`${runtime}: ${count.pauseRounds} rounds, longest ${Math.round(longest)} ms`, told);
      for (const { ran, maxMs: waited } of told) {
        expect(ran).toBeGreaterThan(0);
        expect(waited).toBeLessThan(maxMs);
      }
    },
  );
});
