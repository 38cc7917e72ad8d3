import { expect, inject } from "vitest";
import { swarm } from "../../fakes/cli/swarm-command.ts";
import { dockerAt } from "../../fakes/engine/engine-at.ts";
import {
  begun,
  letGo,
  recordOf,
  swarmEnv,
  swarmIn,
  test,
  writeWaitingTask,
} from "../../fakes/swarm/swarms.ts";

test("auto counts on the engine's host beside the sandboxes of others, and goes on when they end", async ({
  place,
}) => {
  for (const name of ["one", "two"]) writeWaitingTask(place, name);
  const docker = dockerAt(inject("endpoint"));
  const { MemTotal } = (await docker.info()) as { MemTotal: number };
  // What another swarm's worker may use leaves room for one.
  const other = await docker.createContainer({
    ...{ Image: "aimi-sandbox:base", Cmd: ["sleep", "600"] },
    Labels: { "org.aimi.sandbox": "true", "org.aimi.role": "worker", "org.aimi.swarm": "another" },
    HostConfig: { Memory: Math.floor(MemTotal * 0.98), NetworkMode: "none", Init: true },
  });
  try {
    await other.start();
    const env = { ...swarmEnv(place), SWARM_PARALLEL: "auto" };
    const planned = await swarm({ folder: place.repository, env }, "plan");
    expect(planned.stdout).toContain(
      "2 to run, 1 at a time (as many as the memory and CPUs of the engine's host allow in addition to the other sandboxes on this host)",
    );

    const { ended, reach } = await begun(
      ...([place, "US-002 in progress", "start", "--all", "--parallel", "auto"] as const),
    );
    const { stdout } = await swarmIn(place, "events");
    expect(stdout).toContain("two  waits: for memory and CPUs that other sandboxes may be using");
    expect((await recordOf(place, "feat/two")).status).toBe("pending");
    await other.remove({ force: true });
    await reach("US-002 in progress");
    for (const branch of ["feat/one", "feat/two"]) await letGo((await recordOf(place, branch)).containerName);

    expect((await ended).exit).toBe(0);
  } finally {
    await other.remove({ force: true }).catch(() => {});
  }
});
