import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { findProgram } from "../../../src/machine/engine-packages.ts";
import { swarm, swarmProgram } from "../../fakes/cli/swarm-command.ts";
import { test, writeTask } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

const hasStrace = (await findProgram("strace", process.env)) !== null;

test.skipIf(!hasStrace)(
  "a command reads each task file, the settings, the trusted files and the engine's configuration once (needs strace)",
  async ({ folder, repository }) => {
    const env = {
      HOME: folder,
      SWARM_STATE_DIR: join(folder, "state"),
      XDG_CONFIG_HOME: join(folder, "config"),
      DOCKER_CONFIG: join(folder, "docker"),
      DOCKER_HOST: "",
    };
    const files = {
      user: join(folder, "config", "aimi", "config.json"),
      docker: join(folder, "docker", "config.json"),
      trust: join(folder, "state", "trust.json"),
      project: write(repository, ".aimi/config.json", JSON.stringify({ allow: ["example.org:443"] })),
    };
    mkdirSync(join(folder, "config", "aimi"), { recursive: true });
    mkdirSync(join(folder, "docker"));
    writeFileSync(files.user, JSON.stringify({ agent: "claude" }));
    writeFileSync(files.docker, JSON.stringify({ currentContext: "default" }));
    const tasks = ["a", "b", "c"].map((name) =>
      writeTask(
        repository,
        `${name}-tasks.json`,
        taskFileWith({ metadata: { branchName: `feat/${name}`, allow: ["example.com:443"] } }),
      ),
    );
    const trusted = await swarm({ folder: repository, env }, "trust", "--yes");
    expect(trusted.exit, trusted.stderr).toBe(0);

    const log = join(folder, "calls");
    const { status, stderr } = spawnSync(
      "strace",
      ["-f", "-qq", "-e", "trace=openat", "-o", log, swarmProgram, "plan"],
      { cwd: repository, env: { ...process.env, ...env }, encoding: "utf8" },
    );
    expect(status, stderr).toBe(0);

    const calls = readFileSync(log, "utf8").split("\n");
    const opened = (file: string): number => calls.filter((call) => call.includes(`"${file}"`)).length;
    for (const file of [...Object.values(files), ...tasks]) expect([file, opened(file)]).toEqual([file, 1]);
  },
);
