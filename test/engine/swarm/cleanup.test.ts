import { describe, expect, inject } from "vitest";
import type { SwarmState } from "../../../src/state/rules/swarm-state.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { killedAt, leftOnEngine, swarmIn, test, writeLedgerTasks } from "../../fakes/swarm/swarms.ts";

const engine = openEngine(inject("endpoint"));

describe("what a killed owner left", () => {
  test("is shown by status, corrected where that is certain, and cleaned up without losing work", async ({
    place,
  }) => {
    const { containers, volumes } = await engine.open();
    writeLedgerTasks(place, [
      { name: "quick", stories: 1 },
      { name: "slow", stories: 1, seconds: 600 },
      { name: "lost", stories: 1, seconds: 600 },
    ]);
    const killed = await killedAt(place, "after-record-before-remove", "start", "--all", "--parallel", "3");
    expect(killed.signal, killed.stderr).toBe("SIGKILL");
    const state: SwarmState = JSON.parse((await swarmIn(place, "state", "status")).stdout);
    const nameOf = (slug: string): string =>
      state.containers.find(({ branchName }) => branchName === `feat/${slug}`)?.containerName ?? "";
    const allLeft = await leftOnEngine(place);
    expect(allLeft).toHaveLength(9);

    // By hand, as by somebody who knows nothing of swarms.
    await containers.remove(nameOf("slow"));
    await containers.remove(nameOf("lost"));
    await volumes.remove(nameOf("lost"));
    const { stdout } = await swarmIn(place, "status");
    expect(stdout).toMatch(/^no process is running this swarm$/m);
    expect(stdout).toMatch(
      /^slow: recorded as running, but the container has exited; .*: run `swarm resume`$/m,
    );
    expect(stdout).toMatch(
      /^lost: corrected: recorded as running, should be failed \(CONTAINER_LOST: .*\)$/m,
    );
    expect((await swarmIn(place, "state", "list")).stdout).toContain(`${nameOf("lost")}\tfailed`);
    expect((await swarmIn(place, "status", "--exit-status")).exit).toBe(8);

    const before = (await leftOnEngine(place)).sort();
    const planned = await swarmIn(place, "cleanup", "--dry-run");
    expect(planned.stdout).toContain(`would remove container ${nameOf("quick")} (quick)`);
    expect((await leftOnEngine(place)).sort()).toEqual(before);

    const cleaned = await swarmIn(place, "cleanup");
    expect(cleaned.stdout).toContain(`removed volume ${nameOf("quick")} (quick)`);
    expect(cleaned.stdout).toContain(`kept volume ${nameOf("slow")} (slow): the worker is running`);
    expect((await leftOnEngine(place)).sort()).toEqual([nameOf("slow"), `${nameOf("slow")}.home`].sort());

    // As orphans of an archived swarm they hold the only copy of work all the same.
    await swarmIn(place, "state", "init", "--force");
    expect((await swarmIn(place, "cleanup")).stdout).toContain(
      `kept volume ${nameOf("slow")} (slow): the journal of the worker's attempt ends before the final message`,
    );
    await swarmIn(place, "cleanup", "--discard");
    expect(await leftOnEngine(place)).toEqual([]);
  });
});
