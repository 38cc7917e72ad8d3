import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { dockerAt, openEngine } from "../../fakes/engine/engine-at.ts";
import { changesOfDoor, egressChecks, placeChecks } from "../../fakes/gateway/egress-checks.ts";
import { allowedWays, type EgressSwarm, tryWaysOut } from "../../fakes/gateway/egress-swarm.ts";
import { type EgressTargets, startTargets } from "../../fakes/gateway/egress-targets.ts";
import { leftOnEngine, swarmIn } from "../../fakes/swarm/swarms.ts";

const endpoint = inject("endpoint");
const { runtimes } = await openEngine(endpoint).info();

let targets: EgressTargets;

beforeAll(async () => {
  const { IPAM } = await dockerAt(endpoint).getNetwork("bridge").inspect();
  targets = await startTargets(IPAM?.Config?.[0]?.Gateway ?? "");
});

afterAll(() => targets?.[Symbol.asyncDispose]());

const worlds = [
  { runtime: "runc", isolation: "auto", road: "socket", networks: ["none"] },
  {
    runtime: "runsc",
    isolation: "strong",
    road: "network",
    networks: [expect.stringMatching(/^aimi-.*net$/)],
  },
];

for (const { runtime, isolation, road, networks } of worlds) {
  describe.skipIf(!runtimes.includes(runtime))(`from a sandbox of ${runtime}`, () => {
    let swarm: EgressSwarm;

    beforeAll(async () => {
      swarm = await tryWaysOut(targets, { runtime, isolation });
    });

    afterAll(() => swarm?.[Symbol.asyncDispose]());

    test("the workers were what they should be, and came to their end", () => {
      expect(swarm.finished.exit, swarm.finished.stderr).toBe(0);
      expect(swarm.workers).toEqual([
        { runtime, networks },
        { runtime, networks },
      ]);
      expect(egressChecks.length).toBeGreaterThan(36);
    });

    test.for(egressChecks)("$name leads nowhere", ({ name }, { skip }) => {
      expect(swarm.inside[name]?.length, "it was tried").toBeGreaterThan(0);
      expect(swarm.inside[name]?.filter(({ isThrough }) => isThrough)).toEqual([]);
      expect(swarm.hasArrived(name).inside).toBe(false);
      const isUnknown = swarm.outside[name]?.every(({ detail }) => detail.includes("[Errno 97]"));
      if (runtime === "runsc" && isUnknown) skip("this gVisor has no such sockets, for nobody");
      // Else the way itself would be none, and nothing shown.
      expect(swarm.outside[name]).toContainEqual(expect.objectContaining({ isThrough: true }));
    });

    test.for(Object.keys(placeChecks))("%s: out of reach", (name) => {
      // Where the door is a network, that folder is the sandbox's own.
      const isOwn = road === "network" && name === changesOfDoor;
      expect(isOwn ? [] : swarm.inside[name]?.filter(({ isThrough }) => isThrough)).toEqual([]);
      expect(swarm.places.split(/\s+/).filter(Boolean)).toEqual([
        ...["/door:", "door.sock", "/gw:", "control.sock", "journal.ndjson"],
      ]);
    });

    test.for(Object.keys(allowedWays))("%s leads where it should", (name) => {
      expect(swarm.inside[name]).toEqual([expect.objectContaining({ isThrough: true })]);
    });

    test("what was denied is told, with the flag that would allow it", async () => {
      const denied = `denied.egress.test:${targets.securePort}`;
      const [status, logs, events] = [
        await swarmIn(swarm.place, "status"),
        await swarmIn(swarm.place, "logs", "second"),
        await swarmIn(swarm.place, "events", "--kind", "egress"),
      ];
      const words = `was denied ${denied}; --allow ${denied} allows this request`;
      expect(status.stdout).toContain(`second ${words}`);
      expect(logs.stdout + logs.stderr).toContain(words);
      expect(events.stdout).toContain(words);
      expect(events.stdout).toContain("the IP address of the requested host is not public");
    });

    test("nothing is left on the engine", async () => {
      expect(await leftOnEngine(swarm.place)).toEqual([]);
    });
  });
}
