import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { MergeReport } from "../../../src/contract/merge.ts";
import type { ProofReport } from "../../../src/contract/proof.ts";
import { proofCrashPoints } from "../../../src/machine/crash-points.ts";
import type { SwarmState } from "../../../src/state/rules/swarm-state.ts";
import { count } from "../../counts.ts";
import { writeTask } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";
import { outcomesOf, untouchedBy } from "../../fakes/swarm/merges.ts";
import { killedAt, recordOf, type SwarmPlace, swarmIn, test, writeScript } from "../../fakes/swarm/swarms.ts";
import { storyWith, taskFileWith } from "../../fakes/tasks/task-files.ts";

interface SampleWorker {
  readonly files?: Readonly<Record<string, string>>;
  readonly run?: readonly string[];
  readonly verify?: readonly string[];
  /** What it writes when it is told why its work is not good enough. */
  readonly repaired?: Readonly<Record<string, string>>;
  readonly from?: "the red commit";
}

/** `npm test` is green where there are no more items than the limit allows. */
const testScript = '[ "$(ls items | wc -l)" -le "$(cat limit.txt)" ]';

/** The second one fails where what the first one left is still running. */
const leavingSomething = ["sleep 77 > /dev/null 2>&1 & true", "! grep -qz '^77$' /proc/[0-9]*/cmdline"];

const sample: Readonly<Record<string, SampleWorker>> = {
  good: { files: { "limit.txt": "1\n" }, verify: ["grep -q 1 limit.txt", ...leavingSomething] },
  together: {
    files: { "items/two": "2\n", "why.txt": "a\nb\nc\n" },
    repaired: { "limit.txt": "2\n" },
  },
  left: { files: { "notes.txt": "left\n" } },
  right: { files: { "notes.txt": "right\nand more\n" }, repaired: { "notes.txt": "left and right\n" } },
  mending: { files: { "limit.txt": "0\n" }, repaired: { "limit.txt": "5\n", "mended.txt": "mended\n" } },
  dropping: { run: ["rm", "test/extra.sh"] },
  late: { files: { "late.txt": "late\n" }, from: "the red commit" },
  idle: { verify: ["true"] },
  lying: {
    files: { "lie.txt": "lie\n" },
    run: ["touch", "/home/agent/done"],
    verify: ["test -e /home/agent/done"],
  },
};

function writeSample(place: SwarmPlace): void {
  const { repository } = place;
  const commit = (message: string): string => {
    git(repository, "add", "--all", "items", "limit.txt", "notes.txt", "test", "package.json");
    git(repository, "-c", "user.name=A", "-c", "user.email=a@b.invalid", "commit", "--quiet", "-m", message);
    return git(repository, "rev-parse", "HEAD").trim();
  };
  write(repository, "package.json", JSON.stringify({ scripts: { test: testScript } }));
  write(repository, "items/one", "1\n");
  write(repository, "notes.txt", "notes\n");
  write(repository, "test/extra.sh", "exit 0\n");
  write(repository, "limit.txt", "0\n");
  const red = commit("Begin, red");
  write(repository, "limit.txt", "5\n");
  commit("Make it green");
  const writes = (files: Readonly<Record<string, string>>): object[] =>
    Object.entries(files).map(([path, content]) => ({ write: { path, content } }));
  for (const [name, { files = {}, run, verify, repaired, from }] of Object.entries(sample)) {
    const steps = [
      ...writes(files),
      ...(run ? [{ run }] : [{ say: "Done." }]),
      ...(repaired ? [{ onRepair: writes(repaired) }] : []),
    ];
    writeScript(place, `${name}.json`, { "US-001": steps });
    const agent = { kind: "script" as const, script: `${name}.json` };
    writeTask(
      repository,
      `2026-01-02-${name}-tasks.json`,
      taskFileWith({
        metadata: { branchName: `feat/${name}`, agent, ...(from && { baseRef: red }) },
        stories: [storyWith(verify ? { verify: [...verify] } : {})],
      }),
    );
  }
}

function proofOf({ repository }: SwarmPlace, swarmId: string, name: string): ProofReport {
  return JSON.parse(readFileSync(join(repository, ".aimi/swarms", swarmId, name, "proof.json"), "utf8"));
}

describe("results that are proved where no agent ever was", () => {
  test("have the right verdicts and reasons, however often the owner was killed, and are merged by them", async ({
    place,
  }) => {
    const { repository } = place;
    writeSample(place);
    const before = untouchedBy(place);

    const [first = "mid-check", ...others] = proofCrashPoints.slice(-count.proofKills);
    const often = ["--max-attempts", "3"];
    const begun = await killedAt(place, first, "start", "--all", "--prove", "--parallel", "3", ...often);
    expect(begun.signal, begun.stderr).toBe("SIGKILL");
    for (const point of others) {
      const { signal, stderr } = await killedAt(place, point, "resume", ...often);
      expect(signal, `${point}\n${stderr}`).toBe("SIGKILL");
    }
    const ended = await swarmIn(place, "resume", ...often);

    expect(ended.exit, ended.stderr).toBe(5);
    const { swarmId, containers } = JSON.parse(
      (await swarmIn(place, "state", "status")).stdout,
    ) as SwarmState;
    const verdicts = Object.fromEntries(
      containers.map(({ branchName, status, proof, reason }) => [
        branchName.slice("feat/".length),
        [status, proof?.verdict, ...(reason ? [reason.code] : [])].join(" "),
      ]),
    );
    expect(verdicts).toEqual({
      ...{ good: "completed proved", together: "completed proved", left: "completed proved" },
      ...{ right: "completed proved", dropping: "completed proved", idle: "completed proved" },
      ...{ mending: "completed proved", late: "completed not-worse", lying: "failed broken PROOF_FAILED" },
    });
    // It was told what broke, and mended it in its second attempt; the other one broke the same thing twice.
    const attempts = Object.fromEntries(
      containers.map(({ branchName, attempt, earlier = [] }) => [
        branchName.slice("feat/".length),
        [attempt, ...earlier.map(({ code }) => code)].join(" "),
      ]),
    );
    expect(attempts).toMatchObject({ good: "1", mending: "2 PROOF_FAILED", lying: "2 PROOF_FAILED" });
    expect(git(repository, "show", "feat/mending:mended.txt")).toBe("mended\n");
    expect(git(repository, "branch", "--list", "feat/lying")).toBe("");
    expect((await recordOf(place, "feat/lying")).reason?.message).toBe(
      "`test -e /home/agent/done` exits with 1 in a fresh sandbox and also failed before the agent's work",
    );
    expect(proofOf(place, swarmId, "late")).toMatchObject({
      why: "`npm test` fails, as it did before the work",
      checks: [{ command: "npm test", isDemanded: false, before: { exitCode: 1 }, after: { exitCode: 1 } }],
    });
    expect(proofOf(place, swarmId, "good")).toMatchObject({
      checks: [
        { command: "grep -q 1 limit.txt", isDemanded: true, before: { exitCode: 1 }, after: { exitCode: 0 } },
        ...leavingSomething.map((command) => ({ command, after: { exitCode: 0 } })),
        { command: "npm test", before: { exitCode: 0 }, after: { exitCode: 0 } },
      ],
      stories: [{ id: "US-001", checks: ["grep -q 1 limit.txt", ...leavingSomething] }],
      weakenedTests: [],
    });
    expect(proofOf(place, swarmId, "dropping").weakenedTests).toEqual([
      { path: "test/extra.sh", how: "deleted", line: "the whole file" },
    ]);

    const merged = await swarmIn(place, "merge", "--json");

    expect(merged.exit, merged.stderr).toBe(9);
    const report = JSON.parse(merged.stdout) as MergeReport;
    expect(outcomesOf(report)).toEqual({
      ...{ good: "merged", late: "merged", left: "merged", mending: "merged" },
      ...{ right: "set aside: MERGE_CONFLICT", together: "set aside: CHECK_FAILED_TOGETHER" },
      ...{ dropping: "set aside: TESTS_WEAKENED", idle: "unchanged", lying: "not completed: NOT_COMPLETED" },
    });
    const again = await swarmIn(place, "merge", "--json");
    expect(JSON.parse(again.stdout)).toMatchObject({ tip: report.tip, moved: false });
    const summary = await swarmIn(place, "summary");
    expect(summary.stdout).toContain("not worse: `npm test` fails, as it did before the work");
    expect(summary.stdout).toContain("the result deletes or skips tests: test/extra.sh: the whole file");
    expect(summary.stdout).toContain("attempt 1 ended with PROOF_FAILED: `npm test` exits with 1");

    // What was set aside goes back to whoever made it, with what it is to be merged with before it.
    const taken = await swarmIn(place, "retry", "together", "right", "--onto", "integration");
    expect(taken.exit, taken.stderr).toBe(5);
    expect((await recordOf(place, "feat/right")).earlier).toMatchObject([{ code: "MERGE_CONFLICT" }]);
    const once = await swarmIn(place, "merge", "--json");
    expect(outcomesOf(JSON.parse(once.stdout) as MergeReport)).toMatchObject({
      together: "merged",
      right: "merged",
    });
    const branch = report.branch;
    expect(git(repository, "show", `${branch}:notes.txt`)).toBe("left and right\n");
    expect(git(repository, "show", `${branch}:limit.txt`)).toBe("2\n");
    const refused = await swarmIn(place, "retry", "right", "--onto", "integration");
    expect(refused).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("the branch already contains the worker's result"),
    });
    expect(untouchedBy(place)).toEqual(before);
  });
});
