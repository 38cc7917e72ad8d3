import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect } from "vitest";
import type { SwarmState } from "../../../src/state/rules/swarm-state.ts";
import { eventually } from "../../fakes/eventually.ts";
import { writeTask } from "../../fakes/folders.ts";
import { git } from "../../fakes/git/repository.ts";
import {
  begun,
  leftOnEngine,
  recordOf,
  runAsAgent,
  stateOf,
  swarmEnv,
  swarmIn,
  test,
  writeScript,
} from "../../fakes/swarm/swarms.ts";
import { storyWith, taskFileWith } from "../../fakes/tasks/task-files.ts";

const script = { agent: { kind: "script" as const, script: "script.json" } };

const stackProcess = fileURLToPath(new URL("../../fakes/swarm/stack-process.ts", import.meta.url));

describe("swarm start", () => {
  test.for(["--all", "-d"])(
    "with %s, the stack where the owner's loop begins names at most six files of the product",
    async (flag, { place }) => {
      writeScript(place, "script.json", { "US-001": [{ write: { path: "a.txt", content: "a\n" } }] });
      writeTask(
        place.repository,
        "2026-01-02-one-tasks.json",
        taskFileWith({ metadata: { branchName: "feat/one", ...script } }),
      );
      const file = join(place.folder, "stack");

      const { status, stderr } = spawnSync(process.execPath, [stackProcess, "start", "--all", flag], {
        cwd: place.repository,
        env: { ...process.env, ...swarmEnv(place), STACK_FILE: file },
        encoding: "utf8",
      });

      expect(status, stderr).toBe(0);
      await swarmIn(place, "wait");
      const stack = readFileSync(file, "utf8");
      const files = new Set([...stack.matchAll(/\/(src\/[^:)]+\.ts)/g)].map(([, name]) => name));
      expect([...files][0]).toBe("src/swarm/owner-loop.ts");
      expect([...files].length, stack).toBeLessThanOrEqual(6);
    },
  );

  test("carries out task files that build upon each other, up to branches, and leaves nothing on the engine", async ({
    place,
  }) => {
    const { repository } = place;
    writeScript(place, "script.json", {
      "US-001": [
        { write: { path: "a.txt", content: "wrong\n" } },
        { onRepair: [{ write: { path: "a.txt", content: "right\n" } }] },
      ],
    });
    writeScript(place, "second.json", { "US-001": [{ run: ["sh", "-c", "cat a.txt a.txt > b.txt"] }] });
    writeTask(
      repository,
      "2026-01-02-first-tasks.json",
      taskFileWith({
        metadata: { branchName: "feat/first", ...script },
        story: { verify: ["grep -q right a.txt"] },
      }),
    );
    writeTask(
      repository,
      "2026-01-03-second-tasks.json",
      taskFileWith({
        metadata: {
          branchName: "feat/second",
          dependsOn: ["2026-01-02-first-tasks.json"],
          agent: { kind: "script", script: "second.json" },
        },
      }),
    );

    const { exit, stdout, stderr } = await swarmIn(place, "start", "--all");

    expect(exit, stdout + stderr).toBe(0);
    expect(git(repository, "show", "feat/first:a.txt")).toBe("right\n");
    expect(git(repository, "show", "feat/second:b.txt")).toBe("right\nright\n");
    expect(git(repository, "log", "--format=%s", "main..feat/second").trim().split("\n")).toHaveLength(2);
    expect(git(repository, "status", "--porcelain", "--untracked-files=no")).toBe("");
    expect(await leftOnEngine(place)).toEqual([]);

    const again = await swarmIn(place, "start", "--all");
    expect(again).toMatchObject({ exit: 0, stdout: expect.stringContaining("Nothing to carry out") });
  });

  test("a worker that fails takes down none but those that depend on it, and what it had finished is kept", async ({
    place,
  }) => {
    const { repository } = place;
    writeScript(place, "script.json", {
      "US-001": [{ write: { path: "a.txt", content: "a\n" } }],
      "US-002": [{ exit: 3 }],
    });
    writeScript(place, "good.json", { "US-001": [{ write: { path: "g.txt", content: "g\n" } }] });
    const stories = [storyWith(), storyWith({ id: "US-002", dependsOn: ["US-001"] })];
    writeTask(
      repository,
      "2026-01-02-bad-tasks.json",
      taskFileWith({ metadata: { branchName: "feat/bad", ...script }, stories }),
    );
    writeTask(
      repository,
      "2026-01-03-good-tasks.json",
      taskFileWith({ metadata: { branchName: "feat/good", agent: { kind: "script", script: "good.json" } } }),
    );
    writeTask(
      repository,
      "2026-01-04-later-tasks.json",
      taskFileWith({
        metadata: { branchName: "feat/later", dependsOn: ["2026-01-02-bad-tasks.json"], ...script },
      }),
    );

    const { exit, stdout, stderr } = await swarmIn(place, "start", "--all", "--json");

    expect(exit, stderr).toBe(5);
    const { swarm: state }: { swarm: SwarmState } = JSON.parse(stdout);
    const bad = state.containers.find(({ branchName }) => branchName === "feat/bad");
    expect(
      state.containers.map(({ branchName, status, reason }) => [branchName, status, reason?.code]),
    ).toEqual([
      ["feat/good", "completed", undefined],
      ["feat/bad", "failed", "AGENT_CRASH"],
      ["feat/later", "failed", "DEPENDENCY_FAILED"],
    ]);
    expect(git(repository, "show", `${bad?.collected?.ref}:a.txt`)).toBe("a\n");
    expect(git(repository, "branch", "--list", "feat/*").trim()).toBe("feat/good");
  });

  test("a worker whose bases contradict each other fails and names the file", async ({ place }) => {
    const { repository } = place;
    for (const name of ["one", "two"]) {
      writeScript(place, `${name}.json`, {
        "US-001": [{ write: { path: "a.txt", content: `${name}\n` } }],
      });
      const agent = { kind: "script" as const, script: `${name}.json` };
      writeTask(
        repository,
        `2026-01-02-${name}-tasks.json`,
        taskFileWith({ metadata: { branchName: `feat/${name}`, agent } }),
      );
    }
    const dependsOn = ["2026-01-02-one-tasks.json", "2026-01-02-two-tasks.json"];
    writeTask(
      repository,
      "2026-01-03-both-tasks.json",
      taskFileWith({ metadata: { branchName: "feat/both", dependsOn, ...script } }),
    );

    const { exit, stdout } = await swarmIn(place, "start", "--all", "--json");

    const { swarm: state }: { swarm: SwarmState } = JSON.parse(stdout);
    const both = state.containers.find(({ branchName }) => branchName === "feat/both");
    expect(exit).toBe(5);
    expect(both).toMatchObject({
      status: "failed",
      reason: { code: "BASE_CONFLICT", message: expect.stringContaining("a.txt") },
    });
  });

  test("killed in the middle, `resume` goes on, and every story is carried out once", async ({ place }) => {
    const { repository } = place;
    writeScript(place, "script.json", {
      "US-001": [{ write: { path: "a.txt", content: "a\n" } }],
      "US-002": [{ run: ["sh", "-c", "test -e /tmp/once || { touch /tmp/once; sleep 2; }; echo b > b.txt"] }],
    });
    const stories = [storyWith(), storyWith({ id: "US-002", dependsOn: ["US-001"] })];
    writeTask(
      repository,
      "2026-01-02-work-tasks.json",
      taskFileWith({ metadata: { branchName: "feat/work", ...script }, stories }),
    );
    const { owner, ended } = await begun(place, "US-002 in progress", "start", "--all");
    owner.kill("SIGKILL");
    await ended;

    const { exit, stdout, stderr } = await swarmIn(place, "resume");

    expect(exit, stdout + stderr).toBe(0);
    expect(git(repository, "log", "--format=%s", "main..feat/work").trim().split("\n")).toHaveLength(2);
    expect(await leftOnEngine(place)).toEqual([]);
  });

  test("Ctrl-C twice stops the containers and keeps what there is, and `resume` goes on", async ({
    place,
  }) => {
    const { repository } = place;
    writeScript(place, "script.json", {
      "US-001": [
        { write: { path: "a.txt", content: "a\n" } },
        { run: ["sh", "-c", "test -e once || { touch once; exec sleep 600; }"] },
      ],
    });
    writeTask(
      repository,
      "2026-01-02-work-tasks.json",
      taskFileWith({ metadata: { branchName: "feat/work", ...script } }),
    );
    const { owner, ended, reach } = await begun(place, "wrote a.txt", "start", "--all");
    const { containerName } = await recordOf(place, "feat/work");
    // The step that waits runs on until it is ended. After that, `resume` must not wait again.
    await eventually("the step that waits", async () => {
      const exit = await runAsAgent(containerName, ["test", "-e", "/workspace/once"]);
      return exit.kind === "exited" && exit.code === 0 ? exit : null;
    });
    owner.kill("SIGINT");
    await reach("A second Ctrl-C");
    owner.kill("SIGINT");
    expect((await ended).exit).toBe(130);

    const { exit, stdout, stderr } = await swarmIn(place, "resume");

    expect(exit, stdout + stderr).toBe(0);
    expect(git(repository, "show", "feat/work:a.txt")).toBe("a\n");
  });

  test("Ctrl-C while the image is built ends that, and `--all` goes on with what was left, carried out before or not", async ({
    place,
  }) => {
    const { repository } = place;
    writeScript(place, "script.json", { "US-001": [{ write: { path: "a.txt", content: "a\n" } }] });
    writeTask(
      repository,
      "2026-01-02-work-tasks.json",
      taskFileWith({ metadata: { branchName: "feat/work", ...script } }),
    );
    expect((await swarmIn(place, "start", "--all")).exit).toBe(0);
    git(
      repository,
      ...["-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-q", "--allow-empty"],
      ...["-m", "Another tree to build"],
    );
    const { owner, ended } = await begun(place, "Building", "start", "--all", "--again", "--json");
    owner.kill("SIGINT");
    const stopped = await ended;
    expect(stopped.exit).toBe(130);
    expect(stateOf(stopped).containers.map(({ status }) => status)).toEqual(["pending"]);

    const again = await swarmIn(place, "start", "--all", "--json");

    expect(again.exit, again.stderr).toBe(0);
    expect(stateOf(again)).toMatchObject({
      swarmId: stateOf(stopped).swarmId,
      containers: [{ status: "completed" }],
    });
  });

  test("work that cannot be brought in stays where it is, and a dependency of an earlier swarm is no base", async ({
    place,
  }) => {
    const { repository } = place;
    writeScript(place, "script.json", {
      "US-001": [{ run: ["ln", "-s", "elsewhere", ".gitattributes"] }],
    });
    writeTask(
      repository,
      "2026-01-02-work-tasks.json",
      taskFileWith({ metadata: { branchName: "feat/work", ...script } }),
    );

    const { exit, stdout } = await swarmIn(place, "start", "--all");

    expect(exit, stdout).toBe(5);
    expect(stdout).toContain("COLLECT_FAILED");
    expect(await leftOnEngine(place)).toHaveLength(3);

    const dependsOn = ["2026-01-02-work-tasks.json"];
    writeTask(
      repository,
      "2026-01-03-on-tasks.json",
      taskFileWith({ metadata: { branchName: "feat/on", dependsOn, ...script } }),
    );
    const later = await swarmIn(place, "start", "--all");
    expect(later.exit).toBe(2);
    expect(later.stderr).toContain("--again");
  });

  test.for<[what: string, flags: string[], exit: number, code: string]>([
    ["without anything that lets it in", [], 4, "CREDENTIALS_MISSING"],
    ["without a way out", ["--network", "none"], 3, "AGENT_NEEDS_NETWORK"],
  ])(
    "an agent that needs its model, %s, is refused before anything starts",
    async ([, flags, expected, code], { place }) => {
      writeTask(place.repository, "2026-01-02-work-tasks.json", taskFileWith());

      const { exit, stderr } = await swarmIn(place, "start", "--all", ...flags);

      expect(exit).toBe(expected);
      expect(stderr).toContain(code);
      expect(await leftOnEngine(place)).toEqual([]);
    },
  );
});
