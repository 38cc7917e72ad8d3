import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { count } from "../../counts.ts";
import type { Watched } from "../../fakes/cli/watch-command.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import {
  type Gap,
  gapsIn,
  type Neighbour,
  percentile99,
  type Span,
  startNeighbour,
} from "../../fakes/engine/neighbour.ts";
import { eventually } from "../../fakes/eventually.ts";
import {
  type BombEnd,
  busyLoop,
  sandboxBombs,
  type WorkerBomb,
  workerBombs,
} from "../../fakes/sandbox/bombs.ts";
import {
  type BurstSandbox,
  type BurstSwarm,
  openPlace,
  setOffSandbox,
  setOffWorkers,
} from "../../fakes/swarm/set-off.ts";

const engine = openEngine(inject("endpoint"));
const { containers } = await engine.open();
const { runtimes } = await engine.info();
const MiB = 1024 ** 2;
const minute = 60_000;

/** Of a process that owns a swarm or a sandbox, above what it had when its work began. */
const maxGrowth = 64 * MiB;
/** What a summary of any task may have. */
const maxSummary = MiB;

const worlds = [
  { runtime: "runc", isolation: "auto" },
  { runtime: "runsc", isolation: "strong" },
]
  .slice(0, count.runtimes)
  .filter(({ runtime }) => runtimes.includes(runtime));

test("the measure tells a neighbour that gets no time twice from one that gets all of its own", async () => {
  await using fed = await startNeighbour(containers, "runc");
  await using starved = await startNeighbour(containers, "runc");
  const more = async ({ gaps }: Neighbour): Promise<void> => {
    const before = (await gaps()).length;
    const isMore = async (): Promise<true | null> => ((await gaps()).length >= before + 10 ? true : null);
    await eventually("ten times of a neighbour", isMore, minute);
  };

  for (let times = 1; times <= 2; times += 1) {
    await more(starved);
    await containers.pause(starved.id);
    await more(fed);
    await containers.unpause(starved.id);
  }
  await more(starved);

  expect(percentile99(await starved.gaps())).toBeGreaterThan(2 * percentile99(await fed.gaps()));
});

for (const { runtime, isolation } of worlds)
  describe(`of bombs under ${runtime}`, () => {
    const undo = new AsyncDisposableStack();
    const burstByName = new Map<string, BurstSandbox>();
    let swarm: BurstSwarm;
    let gaps: readonly Gap[] = [];

    beforeAll(async () => {
      const place = undo.use(openPlace());
      const neighbour = undo.use(await startNeighbour(containers, runtime));
      swarm = await setOffWorkers(place, [busyLoop, ...workerBombs], { isolation, withinMs: count.bombedMs });
      for (const bomb of sandboxBombs)
        burstByName.set(bomb.name, await setOffSandbox(place, bomb, { isolation, withinMs: 2 * minute }));
      gaps = await neighbour.gaps();
    }, 60 * minute);
    afterAll(() => undo.disposeAsync(), 5 * minute);

    /** A gap is a tick or longer by its nature, so that no less than two ticks are ever asked of a quiet machine. */
    function expectCalm(span: Span): void {
      const busy = swarm.burstByName.get(busyLoop.name)?.span ?? { from: 0, to: 0 };
      const most = 2 * percentile99(gapsIn(gaps, busy));
      expect(percentile99(gapsIn(gaps, span)), "a neighbour's gap in ms").toBeLessThanOrEqual(most);
    }

    function expectSmall({ peakBytes }: Watched, startBytes: number | null): void {
      expect(startBytes, "what it had at its start").toBeGreaterThan(0);
      expect(peakBytes() - (startBytes ?? 0), "bytes above its start").toBeLessThanOrEqual(maxGrowth);
    }

    const endOf = ({ end, endOnGvisor = end }: WorkerBomb): BombEnd =>
      runtime === "runsc" ? endOnGvisor : end;

    test.for([busyLoop, ...workerBombs])("a worker's $name has an end of its own", (bomb) => {
      const { name } = bomb;
      const end = endOf(bomb);
      const burst = swarm.burstByName.get(name);

      expect({ ...burst?.end, restarts: burst?.restarts }).toMatchObject({
        ...{ status: end.status, code: end.code, restarts: 0 },
        ...(end.says && { message: expect.stringMatching(end.says) }),
      });
      expect(burst?.ownerBytes, "bytes that its owner grew by").toBeLessThanOrEqual(maxGrowth);
      expectCalm(burst?.span ?? { from: 0, to: 0 });
    });

    test("their owner stays small, and comes to its own end", () => {
      expectSmall(swarm.owner, swarm.owner.startBytes);
      // Where nothing but limits ended its workers, more of them would help.
      const codes = workerBombs.flatMap((bomb) => endOf(bomb).code ?? []);
      const isLimitAlone = codes.every((code) => ["PROCESSES_EXHAUSTED", "WORK_TOO_LARGE"].includes(code));
      expect(swarm.owner.exit, swarm.owner.stderr).toBe(isLimitAlone ? 7 : 5);
    });

    test("nothing of them is left after cleanup", () => {
      expect(swarm.leftBefore).not.toEqual([]);
      expect(swarm.cleanup.exit, swarm.cleanup.stderr).toBe(0);
      expect(swarm.left).toEqual([]);
    });

    test.for(sandboxBombs)("a sandbox's $name costs nothing but itself", ({ name, exit, code, content }) => {
      const { run, lists, stats, kept, summaryBytes, left } = burstByName.get(name) as BurstSandbox;

      expect(run.exit, run.stderr.slice(-1_000)).toBe(exit);
      if (code !== null) expect(run.stderr).toContain(code);
      expect(kept).toBe(content);
      expect(summaryBytes).toBeLessThanOrEqual(maxSummary);
      const [before, after] = lists;
      expect([after.exit, stats.exit], after.stderr + stats.stderr).toEqual([0, 0]);
      expectSmall(run, run.startBytes);
      expectSmall(after, before.peakBytes());
      expectCalm(run.span);
      expect(left).toEqual([]);
    });
  });
