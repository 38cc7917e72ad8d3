import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { beforeAll, describe, expect } from "vitest";
import { decideToolCall, type HookCommandAnswer } from "../../../src/claude-code/decide-tool-call.ts";
import { stateWithChangedRecord } from "../../../src/state/rules/swarm-state.ts";
import { swarmProgram } from "../../fakes/cli/swarm-command.ts";
import { test } from "../../fakes/folders.ts";
import { now, swarmOf } from "../../fakes/state/records.ts";
import { stateAt } from "../../fakes/state/state-at.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");

interface Place {
  readonly repository: string;
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** What the hook says of a command, where the user's settings lie in `folder/home`. */
function answer({ repository, folder, env = {} }: Place, words: string): HookCommandAnswer {
  const call = { tool_name: "Bash", tool_input: { command: `${swarmProgram} ${words}`, description: "go" } };
  return decideToolCall(JSON.stringify({ cwd: repository, ...call }), {
    ...{ root, pluginRoot: root, projectFolder: repository, env },
    configFolder: join(folder, "home/.config/aimi"),
  });
}

function settle({ folder }: Pick<Place, "folder">, content: unknown): string {
  const file = join(folder, "home/.config/aimi/config.json");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

const spending = [
  "start --all -d",
  "start --all -d --json",
  "start --append --parallel 8 --max-attempts 8",
  "start .aimi/tasks/one-tasks.json --again",
  "resume",
  "resume -d --json",
  "retry @failed",
  "retry worker-1 --json",
  "unpause",
];
const free = [
  ...["status --json", "plan --all --json", "stop", "pause", "wait --timeout 9m", "logs worker", "events"],
  ...["diff worker --stat", "summary", "cleanup", "cleanup --dry-run", "doctor", "version"],
];

beforeAll(() => expect(existsSync(join(root, "dist/main.cjs"))).toBe(true));

describe("a command that spends money", () => {
  test("is asked about without a budget in the user's own settings, and approved with one", ({
    repository,
    folder,
  }) => {
    const place = { repository, folder };
    for (const words of spending) expect(answer(place, words).decision, words).toBe("ask");
    expect(answer(place, "start --all -d").why).toMatch(
      /^the command spends money, and you have set no budget: set swarmBudgetUsd in .*\/config\.json, so that Claude Code runs such commands without asking you$/,
    );
    settle(place, { swarmBudgetUsd: 5 });
    for (const words of spending) expect(answer(place, words).decision, words).toBe("allow");
  });

  test("control: what spends nothing is approved without a budget", ({ repository, folder }) => {
    for (const words of free) expect(answer({ repository, folder }, words).decision, words).toBe("allow");
  });

  test.for<[string, unknown, "allow" | "ask"]>([
    ["of the swarm in dollars", { swarmBudgetUsd: 0.5 }, "allow"],
    ["of the swarm in tokens", { swarmBudgetTokens: 1_000 }, "allow"],
    ["of each worker in dollars", { budgetUsd: 1, agent: "claude" }, "allow"],
    ["of each worker in tokens", { budgetTokens: 1 }, "allow"],
    ["of time only", { swarmBudgetTime: "1h", timeout: "1h" }, "ask"],
    ["of nothing", {}, "ask"],
    ["zero", { swarmBudgetUsd: 0 }, "ask"],
    ["below zero", { swarmBudgetUsd: -5 }, "ask"],
    ["a text", { swarmBudgetUsd: "5" }, "ask"],
    ["true", { swarmBudgetUsd: true }, "ask"],
    ["null", { swarmBudgetUsd: null }, "ask"],
    ["a list", { swarmBudgetUsd: [5] }, "ask"],
    ["no end", '{ "swarmBudgetUsd": 1e999 }', "ask"],
    ["another name", { swarmBudgetUSD: 5, SWARM_BUDGET_USD: 5, maxBudget: 5 }, "ask"],
    ["deeper", { limits: { swarmBudgetUsd: 5 } }, "ask"],
    ["inherited", '{ "__proto__": { "swarmBudgetUsd": 5 } }', "ask"],
    ["in a list", [{ swarmBudgetUsd: 5 }], "ask"],
    ["in a comment", '{ /* "swarmBudgetUsd": 5 */ }', "ask"],
    ["cut", '{ "swarmBudgetUsd": 5', "ask"],
    ["an empty file", "", "ask"],
    ["behind a megabyte", `${" ".repeat(1024 * 1024)}{ "swarmBudgetUsd": 5 }`, "ask"],
  ])("a budget that is %s", ([, content, decision], { repository, folder }) => {
    settle({ folder }, content);

    expect(answer({ repository, folder }, "start --all -d").decision).toBe(decision);
  });

  test("takes no budget from the project, the command line or the environment", ({ repository, folder }) => {
    const place = { repository, folder };
    mkdirSync(join(repository, ".aimi"));
    writeFileSync(join(repository, ".aimi/config.json"), '{ "swarmBudgetUsd": 5 }');
    expect(answer(place, "start --all -d").decision).toBe("ask");
    expect(answer(place, "start --all -d --budget-usd 5").decision).toBe("silent");
    for (const variable of ["SWARM_BUDGET_USD", "SWARM_WORKER_BUDGET_TOKENS"]) {
      expect(answer({ ...place, env: { [variable]: "5" } }, "start --all -d").decision).toBe("ask");
      settle(place, { swarmBudgetUsd: 5 });
      // It counts before the file, and the project's settings of Claude Code can set it.
      expect(answer({ ...place, env: { [variable]: "9999" } }, "start --all -d")).toMatchObject({
        ...{ decision: "ask", why: expect.stringContaining(variable) },
      });
      rmSync(join(folder, "home"), { recursive: true });
    }
  });

  test("takes no budget from a file that the agent or another user can write, or that is no file", ({
    repository,
    folder,
  }) => {
    const place = { repository, folder };
    const decision = () => answer(place, "start --all -d").decision;
    const file = settle(place, { swarmBudgetUsd: 5 });
    expect(decision()).toBe("allow");

    chmodSync(file, 0o666);
    expect(decision()).toBe("ask");
    chmodSync(file, 0o644);
    chmodSync(dirname(file), 0o777);
    expect(decision()).toBe("ask");
    chmodSync(dirname(file), 0o755);
    expect(decision()).toBe("allow");

    // A link is followed, as the program itself does; into the project it is not believed.
    writeFileSync(join(folder, "dotfile"), '{ "swarmBudgetUsd": 5 }');
    writeFileSync(join(repository, "dotfile"), '{ "swarmBudgetUsd": 5 }');
    for (const [target, expected] of [
      [join(folder, "dotfile"), "allow"],
      [join(repository, "dotfile"), "ask"],
      [join(folder, "nothing"), "ask"],
    ] as const) {
      rmSync(file);
      symlinkSync(target, file);
      expect(decision(), target).toBe(expected);
    }
    rmSync(file);
    execFileSync("mkfifo", [file]);
    expect(decision()).toBe("ask");
    rmSync(file);
    mkdirSync(file);
    expect(decision()).toBe("ask");
  });

  test("is asked about where its swarm was begun without a budget, until it has come to its end", async ({
    repository,
    folder,
  }) => {
    const place = { repository, folder };
    settle(place, { swarmBudgetUsd: 5 });
    execFileSync(swarmProgram, ["state", "init"], { cwd: repository, stdio: "ignore" });
    const { store } = stateAt(repository, { gitFolder: join(repository, ".git/aimi") });
    const { swarmId } = await store.update((state) => ({ ...state, containers: swarmOf(1).containers }));
    const requests = join(repository, ".git/aimi/requests", swarmId);
    mkdirSync(requests, { recursive: true });
    const keep = (settings: object) => writeFileSync(join(requests, "settings"), JSON.stringify(settings));
    const decisions = () =>
      ["start --all -d", "resume -d", "retry @failed"].map((words) => answer(place, words).decision);

    keep({ swarmBudgetUsd: 5 });
    expect(decisions()).toEqual(["allow", "allow", "allow"]);
    keep({ swarmBudgetUsd: null, budgetUsd: null });
    expect(decisions()).toEqual(["ask", "ask", "ask"]);
    await store.update((state) => stateWithChangedRecord(state, "aimi-sample-1", { status: "failed" }, now));
    // `start` begins another swarm now, with the settings of today.
    expect(decisions()).toEqual(["allow", "ask", "ask"]);
    writeFileSync(join(repository, ".aimi/swarm-state.json"), "{");
    expect(decisions()).toEqual(["ask", "ask", "ask"]);
  });

  test("of generated orders none that spends is approved without a budget", ({ repository, folder }) => {
    const verbs = [...spending, ...free].map((words) => words.split(" ")[0] ?? "");
    const words = fc.constantFrom(
      ...[
        "--json",
        "--all",
        "-d",
        "--detach",
        "--again",
        "--strict",
        "--append",
        "--fail-fast",
        "--parallel 4",
      ],
      ...["--max-attempts 2", "@failed", "@all", "worker-1", ".aimi/tasks/one-tasks.json", "--budget-usd 5"],
      ...["--yes", "--dry-run", "--stat", "--timeout 9m", "--budget-tokens", "9999"],
    );
    const orders = fc.sample(
      fc
        .tuple(fc.constantFrom(...new Set(verbs)), fc.array(words, { maxLength: 4 }))
        .map(([verb, rest]) => [verb, ...rest].join(" ")),
      { numRuns: 1_000, seed: 1 },
    );
    const spends = (order: string) => /^(?:start|run|resume|retry|unpause)\b/.test(order);
    const decided = (order: string) => answer({ repository, folder }, order).decision;

    const asked = orders.filter((order) => decided(order) === "ask");
    expect(orders.filter((order) => spends(order) && decided(order) === "allow")).toEqual([]);
    expect(asked.filter((order) => !spends(order))).toEqual([]);
    settle({ folder }, { swarmBudgetUsd: 5 });
    // The control: these very orders are ours, and a budget is all that they lacked.
    expect(asked.length).toBeGreaterThan(50);
    expect(asked.filter((order) => decided(order) !== "allow")).toEqual([]);
  });

  test("is asked about by the hook as it is installed", ({ repository, folder }) => {
    const said = (words: string): string => {
      const call = { tool_name: "Bash", tool_input: { command: `${swarmProgram} ${words}` } };
      const { stdout } = spawnSync(join(root, "hooks/auto-approve-cli.sh"), [], {
        ...{ input: JSON.stringify({ cwd: repository, ...call }), cwd: repository, encoding: "utf8" },
        env: { ...process.env, HOME: join(folder, "home"), XDG_CONFIG_HOME: "", SWARM_STATE_DIR: folder },
      });
      return JSON.parse(stdout).hookSpecificOutput.permissionDecision;
    };

    expect([said("start --all -d --json"), said("status")]).toEqual(["ask", "allow"]);
    settle({ folder }, { swarmBudgetUsd: 5 });
    expect(said("start --all -d --json")).toBe("allow");
  });
});
