import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject } from "vitest";
import type { MergedWorker, MergeReport } from "../../../src/contract/merge.ts";
import { mergeCrashPoints } from "../../../src/machine/crash-points.ts";
import { nameOfCheckContainer } from "../../../src/state/rules/worker-container-name.ts";
import { count } from "../../counts.ts";
import { type Finished, swarm } from "../../fakes/cli/swarm-command.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { writeTask } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";
import { outcomesOf, untouchedBy } from "../../fakes/swarm/merges.ts";
import {
  killedAt,
  recordOf,
  type SwarmPlace,
  swarmEnv,
  swarmIn,
  test,
  writeScript,
} from "../../fakes/swarm/swarms.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

/** Green where no item is bad, and where there are no more items than the limit allows. */
const check = '! grep -q bad items/* && [ "$(ls items | wc -l)" -le "$(cat limit.txt)" ]';

interface SampleWorker {
  readonly files?: Readonly<Record<string, string>>;
  readonly dependsOn?: string;
  readonly steps?: readonly unknown[];
}

const sample: Readonly<Record<string, SampleWorker>> = {
  good: { files: { "good.txt": "good\n" } },
  left: { files: { "notes.txt": "left\n" } },
  right: { files: { "notes.txt": "right\nand more\n" } },
  limit: { files: { "limit.txt": "1\n" } },
  second: { files: { "items/two": "2\n", "why.txt": "a\nb\nc\n" } },
  broken: { files: { "items/bad": "bad\n" } },
  upon: { files: { "upon.txt": "upon\n" }, dependsOn: "broken" },
  idle: { steps: [{ say: "There is nothing to do." }] },
  failing: { steps: [{ exit: 3 }] },
};

function writeSample(place: SwarmPlace): void {
  const { repository } = place;
  for (const [path, content] of [
    ["items/one", "1\n"],
    ["limit.txt", "5\n"],
    ["notes.txt", "notes\n"],
  ] as const)
    write(repository, path, content);
  git(repository, "add", "--all", "items", "limit.txt", "notes.txt");
  git(repository, "-c", "user.name=A", "-c", "user.email=a@b.invalid", "commit", "--quiet", "-m", "Begin");
  for (const [name, { files = {}, dependsOn, steps }] of Object.entries(sample)) {
    const written = Object.entries(files).map(([path, content]) => ({ write: { path, content } }));
    writeScript(place, `${name}.json`, { "US-001": steps ?? written });
    writeTask(
      repository,
      `2026-01-02-${name}-tasks.json`,
      taskFileWith({
        metadata: {
          branchName: `feat/${name}`,
          agent: { kind: "script", script: `${name}.json` },
          // Who changes nothing is done where a check says so.
          ...(name === "idle" && { verify: ["true"] }),
          ...(dependsOn && { dependsOn: [`2026-01-02-${dependsOn}-tasks.json`] }),
        },
      }),
    );
  }
}

function reportOf({ stdout, stderr }: Finished): MergeReport {
  expect(stdout, stderr).not.toBe("");
  return JSON.parse(stdout) as MergeReport;
}

describe("results that are brought together", () => {
  test("are kept or set aside with their reasons, however often it was killed; and again changes nothing", async ({
    place,
  }) => {
    const { repository } = place;
    writeSample(place);
    const started = await swarmIn(place, "start", "--all", "--parallel", "4");
    expect(started.exit, started.stderr).toBe(5);
    const before = untouchedBy(place, "feat/good");
    const { containerName } = await recordOf(place, "feat/good");
    const [, projectId = "", swarmId = ""] = /^aimi-(\w+)-(\w+)-/.exec(containerName) ?? [];
    const branch = `swarm/${swarmId}/integration`;
    const merge = ["merge", "--check", check];

    for (const point of mergeCrashPoints.slice(-count.mergeKills)) {
      const { signal, stderr } = await killedAt(place, point, ...merge);
      expect(signal, `${point}\n${stderr}`).toBe("SIGKILL");
      const isThere = git(repository, "branch", "--list", branch) !== "";
      expect(isThere, point).toBe(point === "after-merge-publish");
    }
    // As it would have been without the last kill.
    git(repository, "branch", "--quiet", "-D", branch);
    const first = await swarmIn(place, ...merge, "--json");

    expect(first.exit, first.stderr).toBe(9);
    const report = reportOf(first);
    expect(outcomesOf(report)).toEqual({
      ...{ good: "merged", limit: "merged", left: "merged" },
      second: "set aside: CHECK_FAILED_TOGETHER",
      right: "set aside: MERGE_CONFLICT",
      broken: "set aside: CHECK_FAILED",
      upon: "set aside: BUILDS_ON_SET_ASIDE",
      ...{ idle: "unchanged", failing: "not completed: NOT_COMPLETED" },
    });
    const one = (name: string): MergedWorker | undefined =>
      report.workers.find(({ worker }) => worker === name);
    expect(one("second")).toMatchObject({ with: ["limit"], check: { exitCode: 1 } });
    expect(one("right")).toMatchObject({ with: ["left"], files: ["notes.txt"] });
    expect(one("upon")).toMatchObject({ with: ["broken"], check: null });
    expect(report.forecast).toEqual([{ one: "left", other: "right", files: ["notes.txt"] }]);
    expect(git(repository, "rev-parse", branch).trim()).toBe(report.tip);
    expect(git(repository, "show", `${branch}:notes.txt`)).toBe("left\n");
    expect(git(repository, "show", `${branch}:limit.txt`)).toBe("1\n");
    expect(git(repository, "ls-tree", "--name-only", branch, "items/").trim()).toBe("items/one");

    const summary = await swarmIn(place, "summary");
    expect(summary.stdout).toContain(
      `merged: 3 results on ${branch} at ${report.tip.slice(0, 10)}, 4 set aside`,
    );
    const page = readFileSync(join(repository, ".aimi/reports/latest.html"), "utf8");
    expect(page).toContain("set aside: the result conflicts with left in notes.txt");

    const again = await swarmIn(place, ...merge, "--json");
    expect(again.exit).toBe(9);
    expect(reportOf(again)).toMatchObject({ tip: report.tip, moved: false });
    const mergedBefore = { good: "merged before", limit: "merged before", left: "merged before" };
    expect(outcomesOf(reportOf(again))).toEqual({ ...outcomesOf(report), ...mergedBefore });
    expect(reportOf(again).workers.map(({ with: others }) => others)).toEqual(
      expect.arrayContaining([["limit"], ["left"], ["broken"]]),
    );
    expect(untouchedBy(place, "feat/good")).toEqual(before);
    const { containers } = await openEngine(inject("endpoint")).open();
    for (const place of [1, 2])
      expect(await containers.inspect(nameOfCheckContainer({ projectId, swarmId, place }))).toBeNull();
  });

  test("go to a branch that is named, unless somebody is on it; what is not checked is not called so", async ({
    place,
  }) => {
    const { repository } = place;
    writeSample(place);
    await swarmIn(place, "start", "2026-01-02-good-tasks.json", "2026-01-02-broken-tasks.json");

    const refused = await swarmIn(place, "merge", "--into", "main");
    expect(refused).toMatchObject({ exit: 9, stderr: expect.stringContaining("BRANCH_REFUSED") });
    expect(refused.stderr).toContain("the branch is checked out in");

    const merged = await swarmIn(place, "merge", "--into", "tonight", "--no-check");
    expect(merged).toMatchObject({ exit: 0, stdout: expect.stringContaining("No result was checked.") });
    expect(git(repository, "ls-tree", "-r", "--name-only", "tonight").split("\n")).toEqual(
      expect.arrayContaining(["good.txt", "items/bad"]),
    );
    // What agents wrote may fill a disk when it is checked, too.
    const filled = await swarm(
      { folder: repository, env: { ...swarmEnv(place), AIMI_SANDBOX_DISK: "64m" } },
      ...["merge", "good", "--into", "filled", "--json"],
      ...["--check", "test ! -e good.txt || dd if=/dev/zero of=/workspace/big bs=1M count=20000"],
    );
    expect(outcomesOf(reportOf(filled))).toEqual({ good: "set aside: CHECK_FAILED" });
    expect(reportOf(filled).workers[0]?.check).toMatchObject({
      ...{ exitCode: null, output: expect.stringContaining("64 MiB") },
    });
    // The same by name, where the check is red with all that is there: that says nothing of one more.
    const only = await swarmIn(place, "merge", "good", "--into", "morning", "--check", "false", "--json");
    expect(outcomesOf(reportOf(only))).toEqual({ good: "merged" });
    expect(reportOf(only).check).toMatchObject({ command: "false", before: { exitCode: 1 } });
  });
});
