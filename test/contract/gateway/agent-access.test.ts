import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { findSchemaViolations } from "../../../src/schema/find-violations.ts";
import type { SwarmPlan } from "../../../src/tasks/rules/plan.ts";
import { type Finished, swarm } from "../../fakes/cli/swarm-command.ts";
import { test as base, writeTask } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

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

/** The files that have the key in them, of all that there are. */
function filesWithKey(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => readFileSync(file).includes(key));
}

const here = { ...withKey, ANTHROPIC_BASE_URL: "http://localhost:4000" };

describe("an agent that needs its model", () => {
  test("is refused without a network before anything starts, and the flag is named", async ({
    command,
    repository,
  }) => {
    const { exit, stderr } = await command(withKey, "start", "--all", "--network", "none");

    expect(exit).toBe(3);
    expect(stderr).toMatch(/error AGENT_NEEDS_NETWORK: .*work-tasks\.json.*\nhint: With `--network gateway`/);
    expectNothingBegun(repository);
  });

  for (const flags of [[], ["--network", "bridge"]])
    test(`is refused without a key: exit 4, with the names of those that would do (${flags.join(" ")})`, async ({
      command,
      repository,
    }) => {
      const { exit, stdout, stderr } = await command({}, "start", "--all", ...flags, "--json");

      expect(exit).toBe(4);
      expect(JSON.parse(stdout).error).toMatchObject({
        code: "CREDENTIALS_MISSING",
        details: {
          file: ".aimi/tasks/2026-01-02-work-tasks.json",
          variables: expect.arrayContaining(["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"]),
        },
      });
      expect(stderr).toContain("CREDENTIALS_MISSING");
      expectNothingBegun(repository);
    });

  test("is refused with an address that the gateway would find itself at, and not where none stands", async ({
    command,
    repository,
  }) => {
    const refused = await command(here, "start", "--all");
    const open = await command(here, "start", "--all", "--network", "bridge");

    expect(refused.exit).toBe(2);
    expect(refused.stderr).toMatch(
      /error INVALID_VALUE: ANTHROPIC_BASE_URL cannot be "http:\/\/localhost:4000"\nhint: .*`localhost` means the container/,
    );
    expect(open.stderr).toContain("ENGINE_UNREACHABLE");
    expectNothingBegun(repository);
  });

  test("with a key goes on to the engine, and says what the gateway calls and lets out", async ({
    command,
    repository,
    folder,
  }) => {
    const { exit, stdout, stderr } = await command(withKey, "start", "--all", "--allow", "pypi");

    expect(exit).toBe(3);
    expect(stderr).toContain("ENGINE_UNREACHABLE");
    expect(stderr).toContain(
      "claude calls api.anthropic.com through the gateway with ANTHROPIC_API_KEY, which stays outside its sandbox",
    );
    expect(stderr).toContain("in addition to model APIs, the gateway allows: pypi (packages of Python)");
    expect(stderr).not.toMatch(/NOT filtered|goes into/);
    expect(stdout + stderr).not.toContain(key);
    expect(filesWithKey(folder)).toEqual([]);
    expectNothingBegun(repository);
  });

  test("with a place of a key in the settings needs no variable", async ({ command, folder }) => {
    write(folder, "home/key", `${key}\n`);
    const credential = ["--credential", "anthropic=file:~/key"];

    const { exit, stdout, stderr } = await command({}, "start", "--all", ...credential);

    expect(exit).toBe(3);
    expect(stderr).toContain("ENGINE_UNREACHABLE");
    expect(stderr).toContain("through the gateway with file:~/key, which stays outside its sandbox");
    expect(stdout + stderr).not.toContain(key);
    expect(filesWithKey(folder)).toEqual([join(folder, "home/key")]);
  });

  test("with a key and an open network goes on to the engine, and says what is open and what goes where", async ({
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
    expect(filesWithKey(folder)).toEqual([]);
    expectNothingBegun(repository);
  });
});

describe("the plan", () => {
  test("has the network and the names of variables, and no value", async ({ command }) => {
    const { exit, stdout, stderr } = await command(withKey, "plan", "--network", "agents", "--json");

    const plan: SwarmPlan = JSON.parse(stdout);
    expect({ exit, stderr }).toMatchObject({ exit: 0 });
    expect(await findSchemaViolations("plan", plan)).toEqual([]);
    expect(plan).toMatchObject({
      network: "agents",
      credentials: [{ agent: "claude", variables: ["ANTHROPIC_API_KEY"] }],
    });
    expect(plan.warnings.join()).not.toContain("claude");
    expect(stdout + stderr).not.toContain(key);
  });

  test("has, with the gateway, what it calls in words, and no variable that goes into a sandbox", async ({
    command,
  }) => {
    const { exit, stdout, stderr } = await command(withKey, "plan", "--json", "--allow", "example.org:8443");

    const plan: SwarmPlan = JSON.parse(stdout);
    expect({ exit, stderr }).toMatchObject({ exit: 0 });
    expect(await findSchemaViolations("plan", plan)).toEqual([]);
    expect(plan).toMatchObject({
      ...{ network: "gateway", credentials: [] },
      reach: [
        expect.stringMatching(/^claude calls api\.anthropic\.com .* with ANTHROPIC_API_KEY, which stays/),
        "in addition to model APIs, the gateway allows: example.org:8443",
      ],
    });
    expect(plan.warnings.join()).not.toContain("claude");
    expect(stdout + stderr).not.toContain(key);
  });

  test("reads no secret: a program that would tell one is not started", async ({ command, folder }) => {
    const canary = join(folder, "canary");

    const { exit, stdout } = await command({}, "plan", "--credential", `anthropic=cmd:touch ${canary}`);

    expect(exit).toBe(0);
    expect(stdout).toContain("through the gateway with cmd:touch …, which stays outside");
    expect(existsSync(canary)).toBe(false);
  });

  test("says so to people, and warns of what `start` would refuse", async ({ command }) => {
    const open = await command(withKey, "plan", "--network", "bridge");
    const byGateway = await command(withKey, "plan");
    const sealed = await command(withKey, "plan", "--network", "none");
    const keyless = await command({}, "plan");
    const nowhere = await command(here, "plan");

    expect(open.stdout).toContain(
      "network bridge: NOT filtered, the programs in these sandboxes can reach the internet",
    );
    expect(open.stdout).toContain("claude: ANTHROPIC_API_KEY goes into the agent's own environment");
    expect(byGateway.stdout).toContain("network gateway");
    expect(byGateway.stdout).toContain("claude calls api.anthropic.com through the gateway");
    expect(byGateway.stderr).not.toContain("claude");
    expect(sealed.stdout).toContain("network none");
    expect(sealed.stderr).toContain("warning: `swarm start` refuses claude with --network none");
    expect(keyless.stderr).toContain("warning: claude needs one of the variables ANTHROPIC_AUTH_TOKEN");
    expect(nowhere.stderr).toContain("warning: ANTHROPIC_BASE_URL: the gateway cannot call this address");
  });
});

describe("the setting network", () => {
  test("counts in a project's file only with trust", async ({ command, repository }) => {
    write(repository, ".aimi/config.json", '{\n  "network": "bridge"\n}');

    const { exit, stderr } = await command(withKey, "start", "--all");
    const trusted = await command(withKey, "trust", "--yes");
    const after = await command(withKey, "plan", "--json");

    expect(exit).toBe(2);
    expect(stderr).toMatch(
      /error UNTRUSTED: .*config\.json:2:14.*network gives agents a less restricted network/,
    );
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

  test("may close in a project's file what the user left open, and open nothing that the user closed", async ({
    command,
    repository,
    folder,
    user,
  }) => {
    write(repository, ".aimi/config.json", '{ "network": "gateway" }');
    const userFile = user.slice(folder.length + 1);

    write(folder, userFile, '{ "network": "bridge" }');
    const closed = await command(withKey, "plan", "--json");
    write(folder, userFile, '{ "network": "none" }');
    const opened = await command(withKey, "plan", "--json");

    expect(JSON.parse(closed.stdout)).toMatchObject({ network: "gateway" });
    expect(JSON.parse(opened.stdout)).toMatchObject({ error: { code: "UNTRUSTED" } });
  });
});
