import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, inject } from "vitest";
import { endProcesses } from "../../../src/machine/processes.ts";
import { watchState } from "../../../src/state/watch-state.ts";
import { count } from "../../counts.ts";
import { answers, engineAt, openEngine, startEngine } from "../../fakes/engine/engine-at.ts";
import { eventually } from "../../fakes/eventually.ts";
import { git } from "../../fakes/git/repository.ts";
import { begun, leftOnEngine, letGo, recordOf, test, writeWaitingTask } from "../../fakes/swarm/swarms.ts";

/** The daemon of the tests' engine. */
async function daemon() {
  const engine = engineAt(inject("stateFolder"));
  const { pid } = await engine.status();
  if (pid === null) throw new Error("The tests' engine does not run");
  const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    process.kill(pid, signal);
    await endProcesses([pid], 30_000);
  };
  return { engine, pid, command, end };
}

async function goOn(
  place: Parameters<typeof recordOf>[0],
  swarm: Awaited<ReturnType<typeof begun>>,
): Promise<void> {
  await letGo((await recordOf(place, "feat/one")).containerName);
  expect((await swarm.ended).exit).toBe(0);
  expect(git(place.repository, "show", "feat/one:one.txt")).toBe("one\n2\n");
  expect(git(place.repository, "log", "--format=%s", "main..feat/one").trim().split("\n")).toHaveLength(2);
  expect(await leftOnEngine(place)).toEqual([]);
}

describe("an engine that is away for a while", () => {
  test.for((["SIGKILL", "SIGTERM"] as const).slice(0, count.engineEnds))(
    "%s: its containers end with it, and are started again",
    async (signal, { place }) => {
      writeWaitingTask(place, "one");
      const swarm = await begun(place, "US-002 in progress", "start", "--all", "--json");
      const { engine, end } = await daemon();

      await end(signal);
      await swarm.reach("lost");
      await startEngine(engine);
      await swarm.reach("US-002");

      await goOn(place, swarm);
    },
  );

  test("with live-restore: its containers never ended, and the worker is joined again", async ({ place }) => {
    writeWaitingTask(place, "one");
    const swarm = await begun(place, "US-002 in progress", "start", "--all", "--json");
    const { pid, command, end } = await daemon();
    const { containerName: name } = await recordOf(place, "feat/one");
    const { containers } = await openEngine(inject("endpoint")).open();
    const before = await containers.inspect(name);
    const configFile = command[command.indexOf("--config-file") + 1] ?? "";
    const config = JSON.parse(readFileSync(configFile, "utf8")) as object;
    writeFileSync(configFile, JSON.stringify({ ...config, "live-restore": true }));
    process.kill(pid, "SIGHUP");
    await reloaded(join(dirname(configFile), "docker.log"));

    await end("SIGTERM");
    await swarm.reach("lost");
    const [program = "", ...words] = command;
    spawn(program, words, { detached: true, stdio: "ignore" }).unref();
    await eventually(
      "the engine answers",
      async () => ((await answers(inject("endpoint"))) ? true : null),
      60_000,
    );

    expect((await containers.inspect(name))?.startedAt).toEqual(before?.startedAt);
    await goOn(place, swarm);
    const { engine } = await daemon();
    await engine.stop({ onStep: () => {} });
    await startEngine(engine);
  });
});

/** Resolves when the daemon's log says that it has read its configuration again. */
async function reloaded(log: string): Promise<void> {
  const seen = new AbortController();
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (/Reloaded configuration/i.test(readFileSync(log, "utf8"))) resolve();
  };
  watchState(log, look, seen.signal);
  await promise;
  seen.abort();
}
