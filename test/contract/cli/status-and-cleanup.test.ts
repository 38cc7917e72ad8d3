import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect } from "vitest";
import type { CleanupDocument } from "../../../src/contract/cleanup.ts";
import { kernelLock } from "../../../src/machine/locks/kernel-lock.ts";
import { findSchemaViolations } from "../../../src/schema/find-violations.ts";
import type { ContainerRecord, SwarmState } from "../../../src/state/rules/swarm-state.ts";
import { type Finished, swarm as run, swarmProgram } from "../../fakes/cli/swarm-command.ts";
import { type SocketEngine, socketEngine } from "../../fakes/engine/socket-engine.ts";
import { test as base } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";

interface Place {
  readonly engine: SocketEngine;
  readonly env: Record<string, string>;
  swarm(...words: string[]): Promise<Finished>;
  /** The state file, changed without asking anybody. */
  edit(change: (state: SwarmState) => SwarmState): SwarmState;
  /** A worker on the engine, with a container that lives and what its records say. */
  add(slug: string, change?: Partial<ContainerRecord>): Promise<ContainerRecord>;
}

/** The command in a repository of its own, with an engine that answers at a socket. */
const test = base.extend<{ place: Place }>({
  place: async ({ repository, folder }, use) => {
    await using engine = await socketEngine(folder);
    const env = {
      HOME: join(folder, "home"),
      SWARM_STATE_DIR: join(folder, "state"),
      DOCKER_HOST: engine.endpoint,
    };
    const file = join(repository, ".aimi/swarm-state.json");
    const swarm: Place["swarm"] = (...words) => run({ folder: repository, env }, ...words);
    const edit: Place["edit"] = (change) => {
      const state = change(JSON.parse(readFileSync(file, "utf8")));
      write(repository, ".aimi/swarm-state.json", JSON.stringify(state));
      return state;
    };
    await swarm("state", "init");
    edit((state) => ({
      ...state,
      engine: { name: "docker", endpoint: engine.endpoint, id: engine.id, isolation: null },
    }));
    await use({
      ...{ engine, env, swarm, edit },
      async add(slug, change = {}) {
        const { project, swarmId } = JSON.parse(readFileSync(file, "utf8")) as SwarmState;
        const name = `aimi-${project.id.slice(0, 6)}-${swarmId.slice(0, 6)}-${slug}`;
        const taskFile = `.aimi/tasks/2026-01-02-${slug}-tasks.json`;
        await swarm("state", "add", "-", name, taskFile, `feat/${slug}`);
        const id = Buffer.from(name).toString("hex").padEnd(64, "0").slice(0, 64);
        const labels = {
          ...{ "org.aimi.sandbox": "true", "org.aimi.project": project.id, "org.aimi.worktree": "." },
          ...{ "org.aimi.swarm": swarmId, "org.aimi.task-file": taskFile, "org.aimi.attempt": "1" },
        };
        engine.containers.push({ id, name, labels, state: "running" });
        engine.volumes.push({ name, labels }, { name: `${name}.home`, labels });
        const state = edit((before) => ({
          ...before,
          containers: before.containers.map((record) =>
            record.containerName === name
              ? { ...record, containerId: id, status: "running", startedAt: record.createdAt, ...change }
              : record,
          ),
        }));
        return state.containers.at(-1) as ContainerRecord;
      },
    });
  },
});

const ownerAt = (repository: string) =>
  kernelLock(join(repository, ".git/aimi/owner.lock"), "swarm start --all").acquire(1_000);

function documentOf({ stdout }: Finished): CleanupDocument {
  return JSON.parse(stdout);
}

describe("settings for a swarm that is there", () => {
  test("cannot be given by retry to an owner that lives: it has its own", async ({
    place: { swarm, add },
    repository,
  }) => {
    await add("login", { status: "failed" });
    await using _owner = await ownerAt(repository);

    const { exit, stderr } = await swarm("retry", "login", "--worker-budget-usd", "40");

    expect(exit).toBe(6);
    expect(stderr).toMatch(/error OWNED_BY_ANOTHER: .*pid \d+/);
  });

  test("have the network that its sandboxes were made with, for as long as one is there", async ({
    place: { swarm, add, edit },
    repository,
  }) => {
    await add("login");
    const { swarmId } = edit((state) => state);
    const recorded = JSON.stringify({ network: "bridge" });
    write(repository, `.git/aimi/requests/${swarmId}/settings`, recorded);

    const { exit, stderr } = await swarm("resume", "--network", "gateway");

    expect(exit).toBe(2);
    expect(stderr).toMatch(
      /error INVALID_VALUE: .*--network.*\nhint: .*bridge, because unfinished sandboxes/,
    );
  });
});

describe("swarm status", () => {
  test("asks the engine one question when all is well, and says the same quickly and slowly", async ({
    place: { swarm, add, engine },
    repository,
  }) => {
    // Time goes by between two looks.
    await add("login", { startedAt: null });
    await add("logout", { startedAt: null });
    write(
      repository,
      ".aimi/tasks/2026-01-03-later-tasks.json",
      JSON.stringify({ metadata: { dependsOn: ["2026-01-02-login-tasks.json"] } }),
    );
    await swarm("state", "add", "-", "aimi-later", ".aimi/tasks/2026-01-03-later-tasks.json", "feat/later");
    await using _owner = await ownerAt(repository);

    for (const words of [["status", "--json"], ["status"]]) {
      engine.asked.length = 0;
      const quick = await swarm(...words);

      expect(engine.asked, quick.stderr).toEqual(["GET /containers/json"]);
      // A flag that says what is so anyway leads around the quick path.
      const slow = await swarm(...words, "--progress", "auto");
      expect(slow).toEqual(quick);
    }
    const { stdout, stderr } = await swarm("status");
    expect(stdout).toContain(`owner: pid ${process.pid} on`);
    expect(stdout).toMatch(/pending +later +feat\/later .* waits for login\n/);
    expect(stderr).toBe("next: `swarm wait` waits until the swarm has ended\n");
    const document = JSON.parse((await swarm("status", "--json")).stdout);
    expect(await findSchemaViolations("status", document)).toEqual([]);
    expect(document).toMatchObject({ swarm: { containers: { length: 3 } }, owner: { pid: process.pid } });
  });

  test("a worker whose container and volume are gone has failed, and the state says so from then on", async ({
    place: { swarm, add, engine },
  }) => {
    await add("login");
    await add("logout");
    engine.containers.shift();
    engine.volumes.splice(0, 2);

    const { exit, stdout } = await swarm("status");

    expect(exit).toBe(0);
    expect(stdout).toContain("login: corrected: recorded as running, should be failed (CONTAINER_LOST");
    expect((await swarm("state", "list")).stdout).toMatch(/login\tfailed\n.*logout\trunning\n/);
    expect((await swarm("status")).stdout).not.toContain("corrected");
  });

  test("beside a living owner it only tells, with the owner's number", async ({
    place: { swarm, add, engine },
    repository,
  }) => {
    await add("login");
    for (const container of engine.containers) container.state = "exited";
    const before = readFileSync(join(repository, ".aimi/swarm-state.json"), "utf8");
    await using _owner = await ownerAt(repository);

    expect((await swarm("status")).stdout).toContain(
      `login: the container has exited; the owner (pid ${process.pid}) is collecting the worker's commits\n`,
    );
    expect(readFileSync(join(repository, ".aimi/swarm-state.json"), "utf8")).toBe(before);
  });

  test.for<[string, Partial<ContainerRecord>[], number]>([
    ["all completed", [{ status: "completed" }], 0],
    ["one failed", [{ status: "completed" }, { status: "failed" }], 5],
    [
      "the others ended by a limit",
      [
        { status: "completed" },
        { status: "failed", reason: { code: "AGENT_LIMIT_REACHED", message: "turns" } },
      ],
      7,
    ],
    ["one runs", [{ status: "completed" }, {}], 8],
  ])("--exit-status, %s: %o exits %i", async ([_what, records, exit], { place: { swarm, add, engine } }) => {
    for (const [index, change] of records.entries()) await add(`worker-${index}`, change);
    const ended = records.flatMap(({ status }, index) => (status ? [`worker-${index}`] : []));
    engine.containers.splice(0, ended.length);

    expect((await swarm("status", "--exit-status")).exit).toBe(exit);
    expect((await swarm("status", "--exit-status", "--progress", "plain")).exit).toBe(exit);
  });

  test("--exit-status where nothing can be known: no engine, another engine, no swarm", async ({
    place: { swarm, add, engine, env },
    folder,
  }) => {
    await add("login");

    engine.id = "another";
    engine.containers.length = 0;
    expect(await swarm("status", "--exit-status")).toMatchObject({
      ...{ exit: 3, stderr: expect.stringContaining("ENGINE_CHANGED") },
    });
    await engine[Symbol.asyncDispose]();
    expect(await swarm("status", "--exit-status")).toMatchObject({
      ...{
        exit: 3,
        stdout: expect.stringContaining("not reconciled with the engine: the engine at unix://"),
      },
    });
    expect((await swarm("status")).exit).toBe(0);
    expect((await swarm("state", "list")).stdout).toContain("running");
    git(folder, "init", "--quiet", "empty");
    expect(await run({ folder: join(folder, "empty"), env }, "status", "--exit-status")).toMatchObject({
      ...{ exit: 2, stderr: expect.stringContaining("STATE_MISSING") },
    });
  });

  test("-w tells each change in a line and ends when every worker has", async ({
    place: { swarm, add, engine, env },
    repository,
  }) => {
    const { containerName } = await add("login");
    await add("logout", { status: "completed" });
    engine.containers.pop();
    const watching = spawn(swarmProgram, ["status", "-w"], {
      cwd: repository,
      env: { ...process.env, ...env, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const exited = once(watching, "exit");
    const lines: string[] = [];
    for await (const line of createInterface(watching.stdout)) {
      lines.push(line);
      if (line.startsWith("completed  logout")) {
        engine.containers.length = 0;
        await swarm("state", "update", containerName, "--status", "completed");
      }
    }

    expect(await exited).toEqual([0, null]);
    expect(lines.slice(1)).toEqual([
      "no process is running this swarm",
      expect.stringMatching(/^STATUS /),
      expect.stringMatching(/^running +login /),
      expect.stringMatching(/^completed +logout /),
      expect.stringMatching(/^completed +login /),
    ]);
  });

  test("-w --json is a document in each line, and Ctrl-C ends it with 130", async ({
    place: { add, env },
    repository,
  }) => {
    await add("login");
    const watching = spawn(swarmProgram, ["status", "-w", "--json"], {
      cwd: repository,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const exited = once(watching, "exit");
    const lines: string[] = [];
    for await (const line of createInterface(watching.stdout)) {
      lines.push(line);
      watching.kill("SIGINT");
    }

    expect(await exited).toEqual([130, null]);
    expect(await findSchemaViolations("status", JSON.parse(lines[0] ?? ""))).toEqual([]);
    expect(lines).toHaveLength(1);
  });
});

describe("swarm cleanup", () => {
  const message = (seq: number, type: string, payload: object): string =>
    `${JSON.stringify({ seq, type, payload })}\n`;

  /** What the host heard of a worker whose work is the repository's newest commit. */
  function hear(repository: string, { taskFilePath }: ContainerRecord, status: string): void {
    const { swarmId } = JSON.parse(readFileSync(join(repository, ".aimi/swarm-state.json"), "utf8"));
    const slug = /2026-01-02-(.*)-tasks/.exec(taskFilePath)?.[1];
    const commit = git(repository, "rev-parse", "HEAD").trim();
    write(
      repository,
      `.aimi/swarms/${swarmId}/${slug}/journal-1.ndjson`,
      message(1, "checkpoint", { commit, bundle: "/aimi/out/1.bundle" }) +
        message(2, "completion", { status }),
    );
  }

  test("takes what is safe, keeps and names the rest, and --discard takes that, too", async ({
    place: { swarm, add, engine },
    repository,
  }) => {
    hear(repository, await add("safe", { status: "failed" }), "failed");
    await add("unheard", { status: "failed" });
    await add("unfinished", { status: "stopped" });

    const planned = await swarm("cleanup", "--dry-run", "--json");
    expect(await findSchemaViolations("cleanup", documentOf(planned))).toEqual([]);
    expect(documentOf(planned).removed.map(({ worker }) => worker)).toEqual(["safe", "safe", "safe"]);
    expect([engine.containers.length, engine.volumes.length]).toEqual([3, 6]);

    const { exit, stdout, stderr } = await swarm("cleanup");
    expect(exit, stderr).toBe(0);
    expect(stdout).toMatch(/^removed container aimi-\S+-safe \(safe\)$/m);
    expect(stdout).toMatch(
      /^kept container aimi-\S+-unheard \(unheard\): this repository has no journal of the worker's attempt$/m,
    );
    expect(stdout).toMatch(/^kept volume aimi-\S+-unfinished\.home \(unfinished\): the worker is stopped /m);
    expect(stderr).toContain("--discard");
    expect([engine.containers.length, engine.volumes.length]).toEqual([2, 4]);

    await swarm("cleanup", "unheard", "--discard");
    expect(engine.containers.map(({ name }) => name)).toEqual([expect.stringMatching(/unfinished$/)]);
    await swarm("cleanup", "--discard");
    expect([engine.containers, engine.volumes]).toEqual([[], []]);
    expect((await swarm("status")).stdout).toMatch(/failed +unfinished .*CONTAINER_LOST: .*discarded/);
    expect(await swarm("cleanup")).toMatchObject({ exit: 0, stdout: "There is nothing to clean up.\n" });
  });

  test("beside a living owner only the dry run goes", async ({
    place: { swarm, add, engine },
    repository,
  }) => {
    await add("login");
    await using _owner = await ownerAt(repository);

    expect(await swarm("cleanup", "--discard")).toMatchObject({
      ...{ exit: 6, stderr: expect.stringContaining(`pid ${process.pid}`) },
    });
    expect((await swarm("cleanup", "--dry-run")).stdout).toMatch(
      /would keep container .*the worker is running/,
    );
    expect(engine.containers).toHaveLength(1);
  });

  test("what an archived swarm left goes when its work is here", async ({
    place: { swarm, add, engine },
    repository,
  }) => {
    hear(repository, await add("heard", { status: "completed" }), "completed");
    await add("unheard", { status: "failed" });
    const { swarmId } = JSON.parse((await swarm("state", "status")).stdout) as SwarmState;
    await swarm("state", "init", "--force");

    const { stdout } = await swarm("cleanup", "--all");

    expect(stdout).toMatch(/removed container .*\(heard\)/);
    expect(engine.containers.map(({ name }) => name)).toEqual([expect.stringMatching(/unheard$/)]);
    expect(existsSync(join(repository, ".aimi/swarms", swarmId))).toBe(true);
    await swarm("cleanup", "--all", "--discard");
    expect(engine.volumes).toEqual([]);
    expect(existsSync(join(repository, ".aimi/swarms", swarmId))).toBe(false);
  });

  test("--everything asks, names each step, and leaves what is not swarm's", async ({
    place: { swarm, env },
  }) => {
    write(env["SWARM_STATE_DIR"] ?? "", "probes.json", "{}");
    write(env["SWARM_STATE_DIR"] ?? "", "mine.txt", "x");

    expect(await swarm("cleanup", "--everything")).toMatchObject({
      ...{
        exit: 2,
        stdout: "",
        stderr: expect.stringMatching(/would remove the folder .*WOULD_ASK.*--yes/s),
      },
    });
    const { exit, stdout } = await swarm("cleanup", "--everything", "--yes");

    expect({ exit, stdout }).toEqual({ exit: 0, stdout: `removed the folder ${env["SWARM_STATE_DIR"]}\n` });
    expect(existsSync(join(env["SWARM_STATE_DIR"] ?? "", "probes.json"))).toBe(false);
    expect(existsSync(join(env["SWARM_STATE_DIR"] ?? "", "mine.txt"))).toBe(true);
    expect((await swarm("cleanup", "--everything", "--yes")).stdout).toBe("There is nothing to clean up.\n");
  });

  test("without its engine it does nothing, and says what is wrong with the words", async ({
    place: { swarm, add, engine },
  }) => {
    await add("login", { status: "failed" });

    expect((await swarm("cleanup", "nobody")).stderr).toContain("WORKER_UNKNOWN");
    expect(await swarm("cleanup", "login", "--all")).toMatchObject({ exit: 2 });
    await engine[Symbol.asyncDispose]();
    expect(await swarm("cleanup", "--discard")).toMatchObject({
      ...{ exit: 3, stderr: expect.stringContaining("ENGINE_UNREACHABLE") },
    });
    expect((await swarm("state", "list")).stdout).toContain("\tfailed\n");
  });
});
