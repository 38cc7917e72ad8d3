import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { SwarmPlan } from "../../src/domain/plan.ts";
import { findViolations } from "../../src/schema/find-violations.ts";
import { test as base, writeTask } from "../fakes/folders.ts";
import { write } from "../fakes/repository.ts";
import { type Finished, swarm } from "../fakes/swarm-command.ts";
import { taskFileWith } from "../fakes/task-files.ts";

const key = "sk-test-0123456789abcdef";
const withKey = { ANTHROPIC_API_KEY: key, GITHUB_TOKEN: `never-${key}` };

type Command = (env: Readonly<Record<string, string>>, ...words: string[]) => Promise<Finished>;

/** The command in a repository with one task for Claude Code, without an engine to find and without keys. */
const test = base.extend<{ command: Command; user: string }>({
  user: async ({ folder }, use) => {
    await use(join(folder, "config", "aimi", "config.json"));
  },
  command: async ({ folder, repository }, use) => {
    writeTask(repository, "2026-01-02-work-tasks.json", taskFileWith());
    const none = { ANTHROPIC_API_KEY: "", ANTHROPIC_AUTH_TOKEN: "", CLAUDE_CODE_OAUTH_TOKEN: "" };
    const places = { SWARM_STATE_DIR: join(folder, "state"), XDG_CONFIG_HOME: join(folder, "config") };
    const engine = { HOME: join(folder, "home"), DOCKER_HOST: `unix://${folder}/none.sock` };
    await use((env, ...words) =>
      swarm({ folder: repository, env: { ...none, ...places, ...engine, ...env } }, ...words),
    );
  },
});

/** Nothing of a swarm was begun. */
function expectNothingBegun(repository: string): void {
  expect(existsSync(join(repository, ".aimi", "swarm-state.json"))).toBe(false);
}

describe("an agent that needs its model", () => {
  test("is refused without a network before anything starts, and the flag is named", async ({
    command,
    repository,
  }) => {
    const { exit, stderr } = await command(withKey, "start", "--all");

    expect(exit).toBe(3);
    expect(stderr).toMatch(/error AGENT_NEEDS_NETWORK: .*work-tasks\.json.*\nhint: `--network bridge`/);
    expectNothingBegun(repository);
  });

  test("is refused without a key: exit 4, with the names of those that would do", async ({
    command,
    repository,
  }) => {
    const { exit, stdout, stderr } = await command({}, "start", "--all", "--network", "bridge", "--json");

    expect(exit).toBe(4);
    expect(JSON.parse(stdout).error).toMatchObject({
      code: "CREDENTIALS_MISSING",
      details: { variables: expect.arrayContaining(["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"]) },
    });
    expect(stderr).toContain("CREDENTIALS_MISSING");
    expectNothingBegun(repository);
  });

  test("with both goes on to the engine, and says what is open and what goes where", async ({
    command,
    repository,
    folder,
  }) => {
    const { exit, stdout, stderr } = await command(withKey, "start", "--all", "--network", "bridge");

    expect(exit).toBe(3);
    expect(stderr).toContain("ENGINE_UNREACHABLE");
    expect(stderr).toContain("network bridge: NOT filtered");
    expect(stderr).toContain("claude: ANTHROPIC_API_KEY goes into the agent's own environment");
    expect(stdout + stderr).not.toContain(key);
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) =>
      each.isFile(),
    );
    expect(files.filter((each) => readFileSync(join(each.parentPath, each.name)).includes(key))).toEqual([]);
    expectNothingBegun(repository);
  });
});

describe("the plan", () => {
  test("has the network and the names of variables, and no value", async ({ command }) => {
    const { exit, stdout, stderr } = await command(withKey, "plan", "--network", "agents", "--json");

    const plan: SwarmPlan = JSON.parse(stdout);
    expect({ exit, stderr }).toMatchObject({ exit: 0 });
    expect(await findViolations("plan", plan)).toEqual([]);
    expect(plan).toMatchObject({
      network: "agents",
      credentials: [{ agent: "claude", variables: ["ANTHROPIC_API_KEY"] }],
    });
    expect(plan.warnings.join()).not.toContain("claude");
    expect(stdout + stderr).not.toContain(key);
  });

  test("says so to people, and warns of what `start` would refuse", async ({ command }) => {
    const open = await command(withKey, "plan", "--network", "bridge");
    const sealed = await command(withKey, "plan");

    expect(open.stdout).toContain(
      "network bridge: NOT filtered, whatever runs in these sandboxes can reach the internet",
    );
    expect(open.stdout).toContain("claude: ANTHROPIC_API_KEY goes into the agent's own environment");
    expect(sealed.stdout).toContain("network none");
    expect(sealed.stderr).toContain("warning: claude needs its model's API");
  });
});

describe("the setting network", () => {
  test("counts in a project's file only with trust", async ({ command, repository }) => {
    write(repository, ".aimi/config.json", '{\n  "network": "bridge"\n}');

    const { exit, stderr } = await command(withKey, "start", "--all");
    const trusted = await command(withKey, "trust", "--yes");
    const after = await command(withKey, "plan", "--json");

    expect(exit).toBe(2);
    expect(stderr).toMatch(/error UNTRUSTED: .*config\.json:2:14.*network opens a network to the agents/);
    expect(trusted.exit, trusted.stderr).toBe(0);
    expect(JSON.parse(after.stdout)).toMatchObject({ network: "bridge" });
  });

  test("counts in the user's file and in the environment without", async ({ command, folder, user }) => {
    const inEnvironment = await command({ ...withKey, SWARM_NETWORK: "agents" }, "plan", "--json");
    write(folder, user.slice(folder.length + 1), '{ "network": "bridge" }');
    const inFile = await command(withKey, "plan", "--json");

    expect(JSON.parse(inEnvironment.stdout)).toMatchObject({ network: "agents" });
    expect(JSON.parse(inFile.stdout)).toMatchObject({ network: "bridge" });
  });
});
