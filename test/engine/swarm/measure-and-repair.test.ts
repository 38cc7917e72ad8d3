import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect } from "vitest";
import type { DoctorReport, Finding } from "../../../src/contract/doctor.ts";
import { labels } from "../../../src/engine/engine.ts";
import { findProgram } from "../../../src/machine/engine-packages.ts";
import { findSchemaViolations } from "../../../src/schema/find-violations.ts";
import type { SwarmState } from "../../../src/state/rules/swarm-state.ts";
import { type CommandPlace, swarm } from "../../fakes/cli/swarm-command.ts";
import { dockerAt, engineAt, runNode, startEngine } from "../../fakes/engine/engine-at.ts";
import { test, writeTask } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

let home = "";
let endpoint = "";
let env: Record<string, string> = {};

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "swarm-"));
  // Another runtime under Sysbox's name, as it has been met in the wild.
  const programs = join(home, "bin");
  mkdirSync(programs);
  symlinkSync((await findProgram("runc", process.env)) ?? "", join(programs, "sysbox-runc"));
  env = {
    HOME: home,
    SWARM_STATE_DIR: join(home, "state"),
    PATH: `${programs}${delimiter}${process.env["PATH"]}`,
    ANTHROPIC_API_KEY: "sk-canary-0123456789",
  };
  ({ endpoint } = await startEngine(engineAt(join(home, "state"), env)));
});

afterAll(async () => {
  await engineAt(join(home, "state"), env).stop({ onStep: () => {} });
  await rm(home, { recursive: true, force: true });
});

const at = (folder: string): CommandPlace => ({ folder, env });

async function ours(): Promise<string[]> {
  const containers = await dockerAt(endpoint).listContainers({ all: true });
  return containers.map(({ Names }) => Names[0] ?? "");
}

describe("swarm doctor", () => {
  test("measures every runtime, tells the false sysbox-runc for what it is, and leaves no container behind", async ({
    repository,
  }) => {
    const { exit, stdout, stderr } = await swarm(at(repository), "doctor", "--json");

    const report: DoctorReport = JSON.parse(stdout);
    const find = (subject: string): Finding | undefined =>
      report.findings.find((finding) => finding.subject === subject);
    expect(exit, stderr).toBe(0);
    expect(await findSchemaViolations("doctor", report)).toEqual([]);
    expect(find("engine")).toMatchObject({
      state: "good",
      fact: expect.stringContaining("swarm's private engine at unix://"),
    });
    expect(find("runtime runc")).toMatchObject({
      state: "good",
      fact: expect.stringMatching(
        /^shared-kernel: the sandbox shares the kernel of the engine's host, and root in the sandbox is root on the host$/,
      ),
    });
    expect(find("runtime sysbox-runc")).toMatchObject({
      state: "weak",
      fact: expect.stringContaining("has none of Sysbox's mounts: another runtime uses this name"),
    });
    if (await findProgram("runsc", env))
      expect(find("runtime runsc")).toMatchObject({
        state: "good",
        fact: expect.stringMatching(/^strong: the sandbox has its own kernel/),
      });
    expect(find("builder")?.fact).toBe("BuildKit");
    expect(await ours()).toEqual([]);
  });

  test("names credentials and shows none", async ({ repository }) => {
    const { stdout, stderr } = await swarm(at(repository), "doctor");

    expect(stdout).toContain("ANTHROPIC_API_KEY present");
    expect(stdout + stderr).not.toContain("canary");
  });

  test("works outside a repository, and says so", async ({ folder }) => {
    const { exit, stdout } = await swarm(at(folder), "doctor", "--json");

    expect(exit).toBe(0);
    expect(JSON.parse(stdout).findings).toContainEqual(
      expect.objectContaining({ subject: "project", state: "weak" }),
    );
  });

  test("without any engine: exit 3, what was looked for, and what to do", async ({ repository, folder }) => {
    const { exit, stdout } = await swarm(
      { folder: repository, env: { ...env, DOCKER_HOST: `unix://${folder}/nobody.sock` } },
      "doctor",
      "--json",
    );

    expect(exit).toBe(3);
    expect(JSON.parse(stdout).findings).toContainEqual(
      expect.objectContaining({
        subject: "engine",
        state: "missing",
        fact: expect.stringContaining("DOCKER_HOST: the socket does not exist"),
        fix: expect.stringContaining("swarm engine start"),
      }),
    );
  });

  test("something else that listens on the socket is no engine", async ({ repository, folder }) => {
    const { createServer } = await import("node:http");
    const socket = join(folder, "http.sock");
    const server = createServer((_, answer) => answer.end("hello")).listen(socket);

    const { exit, stdout } = await swarm(
      { folder: repository, env: { ...env, DOCKER_HOST: `unix://${socket}` } },
      "doctor",
      "--json",
    );
    server.close();

    expect(exit).toBe(3);
    expect(stdout).toContain("the program that answers is not a container engine");
  });
});

describe("swarm state beside a real engine", () => {
  /** A container as a worker's would be labelled. */
  async function labelled(
    repository: string,
    taskFilePath: string,
    script: string,
  ): Promise<{ state: SwarmState; remove: () => Promise<unknown> }> {
    const state: SwarmState = JSON.parse((await swarm(at(repository), "state", "init", "--json")).stdout);
    const docker = dockerAt(endpoint);
    const made = await runNode(docker, script, { NetworkMode: "none" });
    const { Image } = await made.inspect();
    await made.remove({ force: true });
    const container = await docker.createContainer({
      name: `aimi-${state.project.id.slice(0, 6)}-${state.swarmId.slice(0, 6)}-sample`,
      Image,
      Cmd: ["/opt/aimi/node", "--eval", script],
      Labels: {
        [labels.sandbox]: "true",
        [labels.project]: state.project.id,
        [labels.worktree]: ".",
        [labels.swarm]: state.swarmId,
        [labels.taskFile]: taskFilePath,
        [labels.attempt]: "1",
      },
      HostConfig: { NetworkMode: "none", Init: true },
    });
    await container.start();
    return { state, remove: () => container.remove({ force: true }) };
  }

  test("a container without a record is an orphan; repair adopts it, and then everything agrees", async ({
    repository,
  }) => {
    writeTask(repository, "sample-tasks.json", taskFileWith({ metadata: { branchName: "feat/sample" } }));
    const { remove } = await labelled(
      repository,
      ".aimi/tasks/sample-tasks.json",
      "setInterval(() => {}, 1000)",
    );

    const checked = await swarm(at(repository), "state", "check", "--json");
    const repaired = await swarm(at(repository), "state", "repair", "--json");
    const again = await swarm(at(repository), "state", "check", "--json");
    const { containers }: SwarmState = JSON.parse((await swarm(at(repository), "state", "status")).stdout);
    await remove();

    expect([checked.exit, JSON.parse(checked.stdout).orphans.length]).toEqual([9, 1]);
    expect(JSON.parse(repaired.stdout)).toMatchObject({ result: "corrected" });
    expect(again, again.stderr).toMatchObject({ exit: 0 });
    expect(containers).toMatchObject([
      { status: "running", branchName: "feat/sample", taskFilePath: ".aimi/tasks/sample-tasks.json" },
    ]);
  });

  test("a broken state file stops everything and stays; repair rebuilds it from labels and journal, and keeps the broken one", async ({
    repository,
  }) => {
    writeTask(repository, "sample-tasks.json", taskFileWith());
    const { state, remove } = await labelled(
      repository,
      ".aimi/tasks/sample-tasks.json",
      "setInterval(() => {}, 1000)",
    );
    const message = (seq: number, type: string, payload: object): string =>
      `${JSON.stringify({ type, seq, payload })}\n`;
    write(
      repository,
      `.aimi/swarms/${state.swarmId}/sample/journal-1.ndjson`,
      message(1, "progress-update", { storyId: "US-001", status: "completed" }) +
        message(2, "progress-update", { storyId: "US-002", status: "in_progress" }) +
        '{"type":"torn',
    );
    const file = join(repository, ".aimi/swarm-state.json");
    writeFileSync(file, "{ broken");
    await rm(join(repository, ".git/aimi/swarm-state.json"));

    const status = await swarm(at(repository), "status");
    expect(status).toMatchObject({ exit: 3, stderr: expect.stringContaining("error STATE_INVALID") });
    expect(readFileSync(file, "utf8")).toBe("{ broken");

    const repaired = await swarm(at(repository), "state", "repair", "--json");
    const rebuilt: SwarmState = JSON.parse((await swarm(at(repository), "state", "status")).stdout);
    await remove();

    expect(JSON.parse(repaired.stdout), repaired.stderr).toMatchObject({
      result: "rebuilt",
      swarmId: state.swarmId,
    });
    expect(rebuilt.containers).toMatchObject([
      { status: "running", lastSeq: 2, storyProgress: { total: 2, completed: 1, inProgress: 1 } },
    ]);
    const kept =
      readdirSync(join(repository, ".aimi/swarms")).find((name) => name.startsWith("unreadable-")) ?? "";
    expect(readFileSync(join(repository, ".aimi/swarms", kept), "utf8")).toBe("{ broken");
  });

  test("another worktree of the project sees none of them", async ({ repository, folder }) => {
    const { remove } = await labelled(
      repository,
      ".aimi/tasks/sample-tasks.json",
      "setInterval(() => {}, 1000)",
    );
    const other = join(folder, "other");
    git(repository, "worktree", "add", "-q", other);

    const checked = await swarm(at(other), "state", "check", "--json");
    await remove();

    expect(JSON.parse(checked.stdout), checked.stderr).toMatchObject({
      swarmId: null,
      reconciled: true,
      orphans: [],
    });
  });

  test("with the file and its copy gone, labelled containers are an error that names repair, never an empty swarm", async ({
    repository,
  }) => {
    const { remove } = await labelled(
      repository,
      ".aimi/tasks/sample-tasks.json",
      "setInterval(() => {}, 1000)",
    );
    await rm(join(repository, ".aimi"), { recursive: true });
    await rm(join(repository, ".git/aimi/swarm-state.json"));

    const status = await swarm(at(repository), "status");
    const check = await swarm(at(repository), "state", "check");
    await remove();

    expect(check).toMatchObject({ exit: 3, stderr: expect.stringContaining("swarm state repair") });
    expect(status).toMatchObject({ exit: 3, stderr: expect.stringContaining("error STATE_LOST") });
    expect(existsSync(join(repository, ".aimi/swarm-state.json"))).toBe(false);
  });
});
