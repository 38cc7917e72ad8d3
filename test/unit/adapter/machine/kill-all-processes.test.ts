import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { startProgramAsAgentUser, waitForProgramEnd } from "../../../../adapter/machine/agent-user.ts";
import {
  type KillerProcess,
  killAllProcessesOfUser,
} from "../../../../adapter/machine/kill-all-processes.ts";
import type { ProgramEnd } from "../../../../adapter/machine/program-end.ts";

const env = { PATH: "/usr/bin:/bin" };
const start = (...command: string[]) => startProgramAsAgentUser({ command, env, folder: "/" });

/** Strikes only when it is told whom. */
function heldKiller() {
  const child = start("sh", "-c", "read pid; kill -KILL $pid");
  const exited = waitForProgramEnd(child);
  // Nothing can be told to one that is over.
  child.stdin.on("error", () => {});
  return { child, exited };
}

const done: KillerProcess = { exited: Promise.resolve({ kind: "exited", code: 1 }), end: () => {} };

// It becomes another user, which only root may.
describe.skipIf(process.getuid?.() !== 0)("a killer that is late", () => {
  test("is over when all are ended, and so ends nothing that begins then", async () => {
    const { child, exited } = heldKiller();
    const killers: KillerProcess[] = [{ exited, end: () => void child.kill("SIGKILL") }, done];

    await killAllProcessesOfUser({
      startKiller: () => killers.shift() ?? done,
      findProcesses: async () => [],
      killProcess: () => {},
      killerMs: 10,
    });
    const next = start("sh", "-c", "echo begun; read word; echo $word");
    const said = next.stdout.setEncoding("utf8")[Symbol.asyncIterator]();
    await said.next();
    child.stdin.end(`${next.pid}\n`);
    expect(await exited).toEqual({ kind: "killed", signal: "SIGKILL" });
    next.stdin.end("alive\n");

    expect((await said.next()).value).toBe("alive\n");
  });

  test("is given more time, and ends no line to the host where nothing is left", async () => {
    const struck: number[] = [];
    /** As one on a machine on which it takes so long to begin. */
    const slow = (): KillerProcess => {
      const { promise: exited, resolve } = Promise.withResolvers<ProgramEnd>();
      const timer = setTimeout(() => resolve({ kind: "exited", code: 1 }), 60);
      const end = () => {
        clearTimeout(timer);
        resolve({ kind: "killed", signal: "SIGKILL" });
      };
      return { exited, end };
    };

    await killAllProcessesOfUser({
      ...{ startKiller: slow, findProcesses: async () => [], killerMs: 10 },
      killProcess: (pid) => void struck.push(pid),
    });

    expect(struck).toEqual([]);
  });

  test("control: one that is left to itself does", async () => {
    const { child, exited } = heldKiller();
    const next = start("sh", "-c", "echo begun; read word");
    await once(next.stdout, "data");

    child.stdin.end(`${next.pid}\n`);

    expect(await waitForProgramEnd(next)).toEqual({ kind: "killed", signal: "SIGKILL" });
    expect(await exited).toEqual({ kind: "exited", code: 0 });
  });
});
