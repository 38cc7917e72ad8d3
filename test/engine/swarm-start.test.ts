import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, inject } from "vitest";
import type { SwarmState } from "../../src/domain/swarm-state.ts";
import { openEngine } from "../fakes/engine-at.ts";
import { test, writeTask } from "../fakes/folders.ts";
import { git, write } from "../fakes/repository.ts";
import { type Finished, swarm, swarmProgram } from "../fakes/swarm-command.ts";
import { storyWith, taskFileWith } from "../fakes/task-files.ts";

const endpoint = inject("endpoint");
const engine = openEngine(endpoint);

function envOf(folder: string): Record<string, string> {
  return { HOME: folder, SWARM_STATE_DIR: inject("stateFolder"), DOCKER_HOST: endpoint };
}

/** `swarm …` in a repository, on the tests' engine. */
function command(repository: string, folder: string, ...words: string[]): Promise<Finished> {
  return swarm({ folder: repository, env: envOf(folder) }, ...words);
}

async function workersLeft(): Promise<string[]> {
  const { containers: _containers, volumes } = await engine.open();
  return volumes.list({ "org.aimi.role": "worker" });
}

/** Takes away the image that each repository of these tests got. */
afterEach(async () => {
  const { images, containers, volumes } = await engine.open();
  for (const { id, labels } of await images.list({ "org.aimi.role": "project-image" }))
    if (labels) await images.remove(id);
  for (const name of await volumes.list({ "org.aimi.role": "worker" })) {
    await containers.remove(name.replace(/-home$/, ""));
    await volumes.remove(name);
  }
});

const script = { agent: { kind: "script" as const, script: "script.json" } };

function writeScript(repository: string, name: string, content: unknown): void {
  write(repository, `.aimi/${name}`, JSON.stringify(content));
}

describe("swarm start", () => {
  test("carries out task files that build upon each other, up to branches, and leaves nothing on the engine", async ({
    repository,
    folder,
  }) => {
    writeScript(repository, "script.json", {
      "US-001": [
        { write: { path: "a.txt", content: "wrong\n" } },
        { onRepair: [{ write: { path: "a.txt", content: "right\n" } }] },
      ],
    });
    writeScript(repository, "second.json", { "US-001": [{ run: ["sh", "-c", "cat a.txt a.txt > b.txt"] }] });
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

    const { exit, stdout, stderr } = await command(repository, folder, "start", "--all");

    expect(exit, stdout + stderr).toBe(0);
    expect(git(repository, "show", "feat/first:a.txt")).toBe("right\n");
    expect(git(repository, "show", "feat/second:b.txt")).toBe("right\nright\n");
    expect(git(repository, "log", "--format=%s", "main..feat/second").trim().split("\n")).toHaveLength(2);
    expect(git(repository, "status", "--porcelain", "--untracked-files=no")).toBe("");
    expect(await workersLeft()).toEqual([]);

    const again = await command(repository, folder, "start", "--all");
    expect(again).toMatchObject({ exit: 0, stdout: expect.stringContaining("Nothing to carry out") });
  });

  test("a worker that fails takes down none but those that depend on it, and what it had finished is kept", async ({
    repository,
    folder,
  }) => {
    writeScript(repository, "script.json", {
      "US-001": [{ write: { path: "a.txt", content: "a\n" } }],
      "US-002": [{ exit: 3 }],
    });
    writeScript(repository, "good.json", { "US-001": [{ write: { path: "g.txt", content: "g\n" } }] });
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

    const { exit, stdout, stderr } = await command(repository, folder, "start", "--all", "--json");

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

  test("a worker whose bases contradict each other fails and names the file", async ({
    repository,
    folder,
  }) => {
    for (const name of ["one", "two"]) {
      writeScript(repository, `${name}.json`, {
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

    const { exit, stdout } = await command(repository, folder, "start", "--all", "--json");

    const { swarm: state }: { swarm: SwarmState } = JSON.parse(stdout);
    const both = state.containers.find(({ branchName }) => branchName === "feat/both");
    expect(exit).toBe(5);
    expect(both).toMatchObject({
      status: "failed",
      reason: { code: "BASE_CONFLICT", message: expect.stringContaining("a.txt") },
    });
  });

  test("killed in the middle, `resume` goes on, and every story is carried out once", async ({
    repository,
    folder,
  }) => {
    writeScript(repository, "script.json", {
      "US-001": [{ write: { path: "a.txt", content: "a\n" } }],
      "US-002": [{ run: ["sh", "-c", "test -e /tmp/once || { touch /tmp/once; sleep 2; }; echo b > b.txt"] }],
    });
    const stories = [storyWith(), storyWith({ id: "US-002", dependsOn: ["US-001"] })];
    writeTask(
      repository,
      "2026-01-02-work-tasks.json",
      taskFileWith({ metadata: { branchName: "feat/work", ...script }, stories }),
    );
    const owner = spawn(swarmProgram, ["start", "--all"], {
      cwd: repository,
      env: { ...process.env, ...envOf(folder) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    for await (const line of createInterface(owner.stderr)) if (line.includes("US-002 in progress")) break;
    owner.kill("SIGKILL");
    await once(owner, "exit");

    const { exit, stdout, stderr } = await command(repository, folder, "resume");

    expect(exit, stdout + stderr).toBe(0);
    expect(git(repository, "log", "--format=%s", "main..feat/work").trim().split("\n")).toHaveLength(2);
    expect(await workersLeft()).toEqual([]);
  });

  test("Ctrl-C keeps what there is, and `resume` goes on", async ({ repository, folder }) => {
    writeScript(repository, "script.json", {
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
    const owner = spawn(swarmProgram, ["start", "--all"], {
      cwd: repository,
      env: { ...process.env, ...envOf(folder) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const exited = once(owner, "exit");
    for await (const line of createInterface(owner.stderr)) if (line.includes("wrote a.txt")) break;
    owner.stderr.resume();
    owner.kill("SIGINT");
    expect(await exited).toEqual([130, null]);

    const { exit, stdout, stderr } = await command(repository, folder, "resume");

    expect(exit, stdout + stderr).toBe(0);
    expect(git(repository, "show", "feat/work:a.txt")).toBe("a\n");
  });

  test("work that cannot be brought in stays where it is, and a dependency of an earlier swarm is no base", async ({
    repository,
    folder,
  }) => {
    writeScript(repository, "script.json", {
      "US-001": [{ run: ["ln", "-s", "elsewhere", ".gitattributes"] }],
    });
    writeTask(
      repository,
      "2026-01-02-work-tasks.json",
      taskFileWith({ metadata: { branchName: "feat/work", ...script } }),
    );

    const { exit, stdout } = await command(repository, folder, "start", "--all");

    expect(exit, stdout).toBe(5);
    expect(stdout).toContain("COLLECT_FAILED");
    expect(await workersLeft()).toHaveLength(2);

    const dependsOn = ["2026-01-02-work-tasks.json"];
    writeTask(
      repository,
      "2026-01-03-on-tasks.json",
      taskFileWith({ metadata: { branchName: "feat/on", dependsOn, ...script } }),
    );
    const later = await command(repository, folder, "start", "--all");
    expect(later.exit).toBe(2);
    expect(later.stderr).toContain("--again");
  });

  test("an agent that needs its model is refused before anything starts", async ({ repository, folder }) => {
    writeTask(repository, "2026-01-02-work-tasks.json", taskFileWith());

    const { exit, stderr } = await command(repository, folder, "start", "--all");

    expect(exit).toBe(3);
    expect(stderr).toContain("AGENT_NEEDS_NETWORK");
    expect(await workersLeft()).toEqual([]);
  });
});
