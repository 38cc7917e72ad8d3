import { execFile } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect } from "vitest";
import { count } from "../../counts.ts";
import { mutationsOf } from "../../fakes/claude-code/command-mutations.ts";
import { userWithBudget } from "../../fakes/claude-code/user-budget.ts";
import { swarmProgram } from "../../fakes/cli/swarm-command.ts";
import { test } from "../../fakes/folders.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");
const control = join(root, "test/fakes/anchored-hook.sh");

const words = [
  "status --json",
  "plan --all --json",
  "start --all -d --json",
  "start .aimi/tasks/2026-01-02-one-tasks.json --parallel 2",
  "resume -d",
  "retry @failed",
  "logs worker --story US-001",
  "wait worker --timeout 30m",
  "summary",
] as const;

beforeAll(() => expect(existsSync(join(root, "dist/main.cjs"))).toBe(true));

describe("a command that only looks like one of ours", () => {
  test("is approved in no spelling, though bash runs what many of them smuggle in; anchored expressions let some through", async ({
    repository,
    folder,
  }) => {
    const plugin = installedIn(join(folder, "plugin"));
    const env = userWithBudget(folder);
    const program = join(plugin, "bin/swarm");
    const elsewhere = join(folder, "elsewhere");
    mkdirSync(join(elsewhere, "bin"), { recursive: true });
    writeFileSync(join(elsewhere, "bin/swarm"), "#!/bin/sh\nexit 0\n", { mode: 0o755 });
    const ours = words.map((rest) => `${program} ${rest}`);
    for (const command of ours)
      expect(await approved(plugin, command, { cwd: repository, env }), command).toBe(true);

    const all = mutationsOf(ours, { program, canary: "canary", elsewhere });
    expect(all.length).toBeGreaterThanOrEqual(800);
    const step = Math.max(1, Math.floor(all.length / count.hookMutations));
    const chosen = all.filter((_, index) => index % step === 0);
    const seen = await inTurns(chosen, async (command, lane) => {
      const place = join(folder, `lane-${lane}`);
      mkdirSync(place, { recursive: true });
      return {
        command,
        isApproved: await approved(plugin, command, { cwd: repository, env }),
        isApprovedByExpressions: await approvedByExpressions(program, command, repository),
        runsCanary: await runsCanary(command, place),
      };
    });

    expect(seen.filter(({ isApproved }) => isApproved).map(({ command }) => command)).toEqual([]);
    // Otherwise there was nothing to be found.
    expect(seen.filter(({ runsCanary }) => runsCanary).length).toBeGreaterThan(seen.length / 10);
    expect(seen.filter((one) => one.isApprovedByExpressions && one.runsCanary)).not.toEqual([]);
  }, 600_000);
});

/** A plugin whose program answers hooks as ours does, and does nothing else. */
function installedIn(plugin: string): string {
  for (const part of ["hooks", ".claude-plugin", "commands"])
    cpSync(join(root, part), join(plugin, part), { recursive: true });
  mkdirSync(join(plugin, "bin"));
  const file = join(plugin, "bin/swarm");
  writeFileSync(file, `#!/bin/sh\ncase $1 in hook) exec '${swarmProgram}' "$@" ;; esac\n`);
  chmodSync(file, 0o755);
  return plugin;
}

async function approved(
  plugin: string,
  command: string,
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<boolean> {
  const said = await answerOf(join(plugin, "hooks/auto-approve-cli.sh"), [], payloadOf(command, cwd), env);
  if (said === "") return false;
  return JSON.parse(said).hookSpecificOutput.permissionDecision === "allow";
}

async function approvedByExpressions(program: string, command: string, cwd: string): Promise<boolean> {
  return (await answerOf(control, [program], payloadOf(command, cwd))).includes('"allow"');
}

function payloadOf(command: string, cwd: string): string {
  const call = { tool_name: "Bash", tool_input: { command, description: "look" } };
  return JSON.stringify({ session_id: "x", cwd, hook_event_name: "PreToolUse", ...call });
}

async function answerOf(
  file: string,
  args: readonly string[],
  input: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const child = run(file, [...args], { env: { ...process.env, ...env } });
  child.child.stdin?.on("error", () => {});
  child.child.stdin?.end(input);
  return (await child).stdout;
}

/** What bash makes of it. */
async function runsCanary(command: string, cwd: string): Promise<boolean> {
  const canary = join(cwd, "canary");
  rmSync(canary, { force: true });
  const child = run("bash", ["-c", command.replaceAll("\0", "")], { cwd, timeout: 10_000 });
  child.child.stdin?.end();
  await child.catch(() => undefined);
  return existsSync(canary);
}

async function inTurns<Item, Result>(
  items: readonly Item[],
  act: (item: Item, lane: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const queue = [...items];
  const lane = async (number: number): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift())
      results.push(await act(item, number));
  };
  await Promise.all([0, 1, 2].map(lane));
  return results;
}
