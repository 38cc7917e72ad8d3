import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, inject } from "vitest";
import { userWithBudget } from "../fakes/claude-code/user-budget.ts";
import { swarm } from "../fakes/cli/swarm-command.ts";
import { git } from "../fakes/git/repository.ts";
import { leftOnEngine, swarmEnv, test, writeLedgerTasks } from "../fakes/swarm/swarms.ts";
import type { Scenarios } from "../stand-ins/scenarios.ts";
import { type ClaudeLine, claudeHere, claudeSession } from "./claude-here.ts";
import { ensureAgentImage } from "./image.ts";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

beforeAll(async () => {
  // A session has no way out, and so nothing can be built in it; the other tests' image must be there, and not on its way.
  await Promise.all([
    claudeHere(),
    ensureAgentImage({ endpoint: inject("endpoint"), stateFolder: inject("stateFolder") }),
  ]);
});

/** The commands that a page of ours gives to Claude, chosen by what follows the program. */
function emitted(plugin: string, words: string): string {
  const page = readFileSync(join(plugin, "commands/swarm.md"), "utf8");
  const line = page
    .match(/`[^`\n]+`/g)
    ?.find((found) => found.startsWith(`\`\${CLAUDE_PLUGIN_ROOT}/bin/swarm ${words}`));
  if (!line) throw new Error(`commands/swarm.md has no swarm ${words}`);
  return line.replaceAll("`", "").replace("${CLAUDE_PLUGIN_ROOT}", plugin);
}

const isResult = ({ type }: ClaudeLine): boolean => type === "result";

/** What tools answered, and who allowed them. */
function answersIn(lines: readonly ClaudeLine[]) {
  return lines.flatMap(({ type, tool_use_result, tool_result_meta }) => {
    if (type !== "user" || tool_use_result === undefined) return [];
    const text =
      typeof tool_use_result === "string" ? tool_use_result : tool_use_result.stdout + tool_use_result.stderr;
    return [{ text, by: tool_result_meta?.[0]?.permission_decision.source }];
  });
}

describe("the plugin in the real Claude Code", () => {
  test("is accepted without a warning, installed by one command, and its hook answers where it was copied to", async ({
    place,
  }) => {
    const env = {
      ...swarmEnv(place),
      ...{
        SWARM_STATE_DIR: join(place.folder, "state"),
        PATH: `${await claudeHere()}:${process.env["PATH"]}`,
      },
    };
    const claude = (...words: string[]): string =>
      execFileSync("claude", words, { env: { ...process.env, ...env }, encoding: "utf8" });
    expect(claude("plugin", "validate", "--strict", root)).toContain("Validation passed");

    const validated = await swarm({ folder: place.repository, env }, "plugin", "validate", "--json");
    expect(validated.exit, validated.stdout).toBe(0);
    expect(JSON.parse(validated.stdout)).toMatchObject({
      claude: { valid: true },
      hook: { approved: true, refused: true },
    });

    // Twice: what is there is replaced.
    for (const _ of [1, 2]) {
      const installed = await swarm({ folder: place.repository, env }, "plugin", "install");
      expect(installed.exit, installed.stderr).toBe(0);
    }
    expect(JSON.parse(claude("plugin", "list", "--json"))).toMatchObject([
      { id: "aimi@aimi", enabled: true },
    ]);
    const { stdout } = await swarm({ folder: place.repository, env }, "doctor", "--json");
    const hook = JSON.parse(stdout).findings.find(
      (finding: { subject: string }) => finding.subject === "hook",
    );
    expect(hook).toMatchObject({ state: "good" });
    expect(hook.fact).toContain("approves swarm's own commands and nothing else");

    claude("plugin", "disable", "aimi@aimi");
    const disabled = await swarm({ folder: place.repository, env }, "doctor", "--json");
    expect(disabled.stdout).toContain(", but disabled");
  });

  test("looks at a swarm and starts one without asking anybody, and Claude is told when it ends", async ({
    place,
  }) => {
    writeLedgerTasks(place, [
      { name: "one", stories: 1 },
      { name: "two", stories: 2 },
    ]);
    const env = { ...swarmEnv(place), ...userWithBudget(place.folder) };
    const { stdout } = await swarm({ folder: place.repository, env }, "plugin", "path");
    const plugin = stdout.trim();
    const scenarios: Scenarios = {
      "US-901": [{ run: emitted(plugin, "status") }, { text: "There is none yet." }],
      "US-902": [
        { run: emitted(plugin, "plan") },
        { run: emitted(plugin, "start --all") },
        { text: "It runs." },
        { run: emitted(plugin, "status") },
        { text: "It has ended." },
      ],
    };
    await using session = await claudeSession(place, { scenarios, env, flags: ["--plugin-dir", plugin] });

    session.say("/aimi:swarm status US-901");
    const looked = await session.until(isResult);
    const [init] = looked.filter(({ subtype }) => subtype === "init");
    expect(init).toMatchObject({ permissionMode: "default" });
    expect(init?.slash_commands).toEqual(
      expect.arrayContaining(["aimi:swarm", "aimi:plan-tasks", "aimi:review", "aimi:task-files"]),
    );
    expect(answersIn(looked)).toEqual([{ text: expect.stringContaining('"swarm":null'), by: "hook" }]);
    expect(answersIn(looked)[0]?.text).toContain("next: ");

    session.say("/aimi:swarm start US-902");
    const started = await session.until(isResult);
    expect(answersIn(started).map(({ by }) => by)).toEqual(["hook", "hook"]);
    expect(started.at(-1)).toMatchObject({ result: "It runs.", permission_denials: [] });
    // Nobody types anything: the hook that waits for the swarm's end wakes it.
    const woken = await session.until(isResult);
    expect(woken.at(-1)).toMatchObject({ result: "It has ended.", permission_denials: [] });
    const [status] = answersIn(woken);
    expect(status?.by).toBe("hook");
    expect(JSON.parse(status?.text.split("\n")[0] ?? "").swarm.containers).toMatchObject([
      { status: "completed" },
      { status: "completed" },
    ]);
    expect(git(place.repository, "branch", "--format=%(refname:short)").trim().split("\n")).toEqual(
      expect.arrayContaining(["feat/one", "feat/two"]),
    );
    expect(await leftOnEngine(place)).toEqual([]);
  });

  test("is denied as usual what is not swarm's own command", async ({ place }) => {
    const env = swarmEnv(place);
    const { stdout } = await swarm({ folder: place.repository, env }, "plugin", "path");
    const plugin = stdout.trim();
    const smuggled = `${plugin}/bin/swarm status --json; touch ${place.folder}/canary`;
    const scenarios: Scenarios = { "US-903": [{ run: smuggled }, { text: "It was denied." }] };
    await using session = await claudeSession(place, { scenarios, env, flags: ["--plugin-dir", plugin] });

    session.say("/aimi:swarm status US-903");
    const said = await session.until(isResult);

    expect(said.at(-1)?.permission_denials).toHaveLength(1);
    expect(() => readFileSync(join(place.folder, "canary"))).toThrow();
  });

  test("is denied to spend money by a user who set no budget and is not there to be asked", async ({
    place,
  }) => {
    writeLedgerTasks(place, [{ name: "one", stories: 1 }]);
    const env = swarmEnv(place);
    const { stdout } = await swarm({ folder: place.repository, env }, "plugin", "path");
    const plugin = stdout.trim();
    const scenarios: Scenarios = {
      "US-904": [{ run: emitted(plugin, "start --all") }, { text: "It was denied." }],
    };
    await using session = await claudeSession(place, { scenarios, env, flags: ["--plugin-dir", plugin] });

    session.say("/aimi:swarm start US-904");
    const said = await session.until(isResult);

    expect(said.at(-1)?.permission_denials).toHaveLength(1);
    expect(await leftOnEngine(place)).toEqual([]);
  });
});
