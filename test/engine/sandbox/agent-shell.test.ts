import { afterAll, beforeAll, describe, expect, inject, test, vi } from "vitest";
import {
  findExcessRights,
  openAgentTerminal,
  runCommandAsAgentUser,
} from "../../../src/sandbox/command/agent-shell.ts";
import { attackProgram } from "../../fakes/engine/container-attacks.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { startWorker, type Worker } from "../../fakes/swarm/worker.ts";

vi.setConfig({ testTimeout: 30_000 });

const engine = openEngine(inject("endpoint"));
const { runtimes } = await engine.info();
const signal = new AbortController().signal;

/** What root's rights would allow. */
const attacks = [
  "become root",
  "signal it",
  "signal the first process",
  "list /aimi",
  "write journal.ndjson",
];

async function inside(worker: Worker, ...command: string[]): Promise<{ exit: number; stdout: string }> {
  const { containers, id: containerId } = worker;
  const input = (async function* () {})();
  const request = { command, input, onOutput: async () => {} };
  const result = await runCommandAsAgentUser({ containers, containerId }, request, signal);
  return { exit: result.exitCode, stdout: result.stdout };
}

for (const runtime of ["runc", "runsc"]) {
  describe.skipIf(!runtimes.includes(runtime))(`a person in a worker's sandbox of ${runtime}`, () => {
    let worker: Worker;
    beforeAll(async () => {
      worker = await startWorker(engine, { runtime });
    });
    afterAll(() => worker[Symbol.asyncDispose]());

    test("is the agent's user in its folder, without any right beyond", async () => {
      const who = await inside(worker, "sh", "-c", "pwd; id; echo $HOME; cat /proc/self/status");
      const tried = await inside(worker, "python3", "-c", attackProgram, ...attacks);

      expect(who.stdout).toMatch(
        /^\/workspace\nuid=1000\(agent\) gid=1000\(agent\) groups=1000\(agent\)\n\/home\/agent\n/,
      );
      expect(findExcessRights(who.stdout)).toBeNull();
      const outcomes = JSON.parse(tried.stdout) as Record<string, string>;
      expect(Object.keys(outcomes).sort()).toEqual([...attacks].sort());
      expect(Object.entries(outcomes).filter(([, outcome]) => outcome === "done")).toEqual([]);
      expect(await inside(worker, "sh", "-c", "exit 7")).toMatchObject({ exit: 7 });
      await expect(inside(worker, "nosuch")).rejects.toMatchObject({ code: "PROGRAM_NOT_FOUND" });
    });

    test("has a terminal that the agent cannot open, and takes what runs in it along", async () => {
      const { containers, id: containerId } = worker;
      const stopping = new AbortController();
      {
        await using session = await openAgentTerminal(
          { containers, containerId },
          { command: [], term: "xterm", prompt: "here$ ", columns: 101, rows: 31 },
          stopping.signal,
        );
        const owner = `python3 -c "import os; s = os.fstat(0); print('owner', s.st_uid, oct(s.st_mode))"`;
        await session.write(Buffer.from(`stty size; id -u; echo $TERM; ${owner}; exec sleep 1234\r`));
        let shown = "";
        for await (const bytes of session.output) {
          shown += Buffer.from(bytes).toString();
          if (/owner \d.*\r\n/.test(shown)) break;
        }

        expect(shown).toContain("here$ ");
        expect(shown).toMatch(/\r31 101\r\n1000\r\nxterm\r\nowner 0 0o206[02]0\r\n/);
        stopping.abort(new Error("gone"));
      }

      const { text } = await worker.run(["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"], "0:0");
      expect(text).toContain("supervise");
      expect(text).not.toContain("sleep 1234");
    });

    // Why it is not left to the engine to make somebody that user.
    if (runtime === "runsc")
      test("control: who asks the engine for that user keeps rights of root", async () => {
        const { text } = await worker.run(["cat", "/proc/self/status"], "1000:1000");
        const attack = ["python3", "-c", attackProgram, "become root"];
        const { text: tried } = await worker.run(attack, "1000:1000");

        expect(findExcessRights(text)).toContain("keeps capabilities");
        expect(JSON.parse(tried)).toEqual({ "become root": "done" });
      });
  });
}
