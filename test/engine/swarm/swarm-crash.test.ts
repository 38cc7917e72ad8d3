import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { crashPoints } from "../../../src/machine/crash-points.ts";
import { count } from "../../counts.ts";
import { chanceFrom } from "../../fakes/chance.ts";
import { writeTask } from "../../fakes/folders.ts";
import { git } from "../../fakes/git/repository.ts";
import {
  killedAt,
  type LedgerWorker,
  ledgerExpected,
  ledgerOf,
  leftOnEngine,
  type SwarmPlace,
  swarmIn,
  test,
  writeLedgerTasks,
} from "../../fakes/swarm/swarms.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

const chain: readonly LedgerWorker[] = [
  { name: "one", stories: 2 },
  { name: "two", stories: 2, dependsOn: ["one"] },
  { name: "three", stories: 2, dependsOn: ["two"] },
  { name: "four", stories: 2, dependsOn: ["three"] },
];

/** Each task ended once, each commit is here once, no story was carried out twice, and nothing is left. */
async function expectAllDone(place: SwarmPlace, workers: readonly LedgerWorker[]): Promise<void> {
  for (const worker of workers) expect(ledgerOf(place, worker), worker.name).toEqual(ledgerExpected(worker));
  expect(await leftOnEngine(place)).toEqual([]);
  expect((await swarmIn(place, "state", "check")).exit).toBe(0);
}

/** Before there is a state there is nothing to go on with, and what was typed is typed again. */
async function goOn(place: SwarmPlace): Promise<void> {
  const first = await swarmIn(place, "resume");
  const last = first.stderr.includes("STATE_MISSING") ? await swarmIn(place, "start", "--all") : first;
  expect(last.exit, last.stdout + last.stderr).toBe(0);
}

describe("an owner that is killed", () => {
  test("at every point, one after the other, in one swarm", async ({ place }) => {
    writeLedgerTasks(place, chain);

    for (const point of crashPoints) {
      const words = ["before-state-init", "after-state-init"].includes(point)
        ? ["start", "--all"]
        : ["resume"];
      const { signal, stderr } = await killedAt(place, point, ...words);
      expect(signal, `${point}\n${stderr}`).toBe("SIGKILL");
    }

    await goOn(place);
    await expectAllDone(place, chain);
  });

  test.for(crashPoints.slice(0, count.lonelyKills))(
    "%s: one `resume` brings all to its end",
    async (point, { place }) => {
      const workers = chain.slice(0, 2);
      writeLedgerTasks(place, workers);
      const { signal, stderr } = await killedAt(place, point, "start", "--all");
      expect(signal, stderr).toBe("SIGKILL");

      await goOn(place);

      await expectAllDone(place, workers);
    },
  );

  test("goes on with the agent that its swarm was begun with", async ({ place }) => {
    writeTask(
      place.repository,
      "2026-01-02-one-tasks.json",
      taskFileWith({ metadata: { branchName: "feat/one" } }),
    );
    const agent = ["--agent", "command", "--", "sh", "-c", "echo made > made.txt"];
    const { signal, stderr } = await killedAt(place, "after-state-init", "start", "--all", ...agent);
    expect(signal, stderr).toBe("SIGKILL");

    await goOn(place);

    expect(git(place.repository, "show", "feat/one:made.txt")).toBe("made\n");
  });

  test("at any time, again and again, in a swarm of eight", async ({ place }) => {
    const { repository } = place;
    const workers = Array.from({ length: 8 }, (_, index) => ({
      ...{ name: `worker${index}`, stories: 3, seconds: count.randomKills / 6 },
      ...(index >= 6 && { dependsOn: [`worker${index - 6}`] }),
    }));
    writeLedgerTasks(place, workers);
    const chance = chanceFrom(20_261_118);
    const command = (): string[] =>
      existsSync(join(repository, ".aimi/swarm-state.json")) ? ["resume"] : ["start", "--all"];

    for (let kills = 0; kills < count.randomKills; kills += 1) {
      const { signal, exit, stderr } = await killedAt(place, `${chance.below(2_000) + 300}ms`, ...command());
      // It may have come to its end before.
      expect([signal, exit], stderr).toContain(signal === null ? 0 : "SIGKILL");
    }

    const last = await swarmIn(place, ...command());
    expect(last.exit, last.stdout + last.stderr).toBe(0);
    await expectAllDone(place, workers);
  });
});
