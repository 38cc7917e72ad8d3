import { describe, expect } from "vitest";
import type { SwarmState } from "../../../src/state/rules/swarm-state.ts";
import { count } from "../../counts.ts";
import { eventually } from "../../fakes/eventually.ts";
import { writeTask } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";
import {
  type BegunSwarm,
  begun,
  leftOnEngine,
  type SwarmPlace,
  stateOf,
  swarmIn,
  test,
  writeScript,
} from "../../fakes/swarm/swarms.ts";
import { storyWith, taskFileWith } from "../../fakes/tasks/task-files.ts";

const names = Array.from({ length: count.haltedWorkers }, (_, index) => `w${index}`);

/** Workers that have more files to prepare than work to do. */
function writeWorkers(place: SwarmPlace): void {
  const { repository } = place;
  for (let index = 0; index < count.preparedFiles; index += 1)
    write(repository, `many/${index % 100}/${index}.txt`, `${index}\n`);
  git(repository, "add", "--all");
  git(
    repository,
    "-c",
    "user.name=T",
    "-c",
    "user.email=t@example.invalid",
    "commit",
    "--quiet",
    "-m",
    "Many",
  );
  for (const name of names) {
    writeScript(place, `${name}.json`, { "US-001": [{ write: { path: `${name}.txt`, content: name } }] });
    writeTask(
      repository,
      `2026-01-02-${name}-tasks.json`,
      taskFileWith({
        metadata: { branchName: `feat/${name}`, agent: { kind: "script", script: `${name}.json` } },
        stories: [storyWith()],
      }),
    );
  }
}

async function statuses(place: SwarmPlace): Promise<string[]> {
  const { stdout } = await swarmIn(place, "state", "status");
  return (JSON.parse(stdout) as SwarmState).containers.map(({ status }) => status);
}

const halts: Readonly<Record<string, (place: SwarmPlace, swarm: BegunSwarm) => unknown>> = {
  "Ctrl-C": (_place, { owner }) => owner.kill("SIGINT"),
  "a SIGTERM": (_place, { owner }) => owner.kill("SIGTERM"),
  "`swarm stop`": (place) => swarmIn(place, "stop"),
};

describe("a swarm whose workers are prepared", () => {
  test.for(Object.keys(halts).slice(0, count.halts))(
    "ends none of them for ever by %s, and goes on to its end",
    async (how, { place }) => {
      writeWorkers(place);
      const started = await begun(
        place,
        "started",
        "start",
        "--all",
        "--parallel",
        String(names.length),
        "--json",
      );
      await eventually(
        "all workers run",
        async () => ((await statuses(place)).every((status) => status !== "pending") ? true : null),
        120_000,
      );

      await halts[how]?.(place, started);
      const { exit, stdout } = await started.ended;
      expect(stateOf({ exit, stdout, stderr: "" }).containers.map(({ status }) => status)).not.toContain(
        "failed",
      );
      const resumed = await swarmIn(place, "resume", "--json");

      expect(resumed.exit, resumed.stderr).toBe(0);
      expect(stateOf(resumed).containers.map(({ status }) => status)).toEqual(names.map(() => "completed"));
      for (const name of names)
        expect(git(place.repository, "diff", "--name-status", `main..feat/${name}`)).toBe(`A\t${name}.txt\n`);
      expect(await leftOnEngine(place)).toEqual([]);
    },
  );
});
