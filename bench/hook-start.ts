import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Comparison, median } from "./compare.ts";

const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const [runs, pairs] = [20, 20];
const maxMs = 5;

/** What Claude Code waits for: its hooks, and its status line. `withoutSwarm` is a repository that has none. */
export function hookStart(
  { repository, withoutSwarm }: { readonly repository: string; readonly withoutSwarm: string },
  env: NodeJS.ProcessEnv,
): Comparison[] {
  const timed = (command: readonly string[], cwd: string, expected: RegExp, input = ""): number => {
    const [file = "", ...args] = command;
    const started = performance.now();
    const { stdout, status } = spawnSync(file, args, {
      ...{ cwd, input, encoding: "utf8" },
      env: { ...env, CLAUDE_PROJECT_DIR: cwd },
    });
    const ms = performance.now() - started;
    if (status !== 0 || !expected.test(stdout))
      throw new Error(`${command.join(" ")} answered ${status}: ${stdout}`);
    return ms;
  };
  const call = (command: string): string =>
    JSON.stringify({ cwd: repository, tool_name: "Bash", tool_input: { command, description: "look" } });
  const [approve, start] = ["auto-approve-cli.sh", "session-start.sh"].map((name) => `${root}/hooks/${name}`);
  const bareNode = (): number =>
    timed([process.execPath, "--eval", "process.stdout.write('x')"], root, /^x$/);
  const bareShell = (): number => timed(["/bin/sh", "-c", ":"], root, /^$/);
  const ours = call(`${root}/bin/swarm status --json`);
  const approved = (): number => timed([approve ?? ""], repository, /"allow"/, ours);
  const p95 = (one: () => number) => async (): Promise<number> =>
    Array.from({ length: runs }, one).sort((a, b) => a - b)[Math.floor(runs * 0.95)] ?? 0;
  const overShell = (one: () => number) => async (): Promise<number> =>
    median(Array.from({ length: pairs }, () => one() - bareShell()));
  const silent = { against: `${maxMs} ms`, goal: { sign: "≤", ratio: 1 } } as const;

  return [
    {
      ...{
        name: "hook that approves, one of our commands",
        against: "bare Node",
        goal: { sign: "≤", ratio: 1.4 },
      },
      note: `the slowest but one of ${runs}, of each`,
      ours: p95(approved),
      theirs: p95(bareNode),
    },
    {
      ...{ name: "hook that approves, any other command", ...silent },
      note: `over a bare shell, median of ${pairs} pairs`,
      ours: overShell(() => timed([approve ?? ""], repository, /^$/, call("npm test"))),
      theirs: async () => maxMs,
    },
    {
      ...{ name: "hook at the beginning of a session, no swarm", ...silent },
      note: `over a bare shell, median of ${pairs} pairs`,
      ours: overShell(() => timed([start ?? ""], withoutSwarm, /^$/)),
      theirs: async () => maxMs,
    },
    {
      name: "hook at the beginning of a session, a swarm of 16",
      ...{ against: "bare Node", goal: { sign: "≤", ratio: 1.3 } },
      note: "time of the process",
      ours: async () => timed([start ?? ""], repository, /interrupted/),
      theirs: async () => bareNode(),
    },
    {
      ...{ name: "swarm statusline, a swarm of 16", against: "bare Node", goal: { sign: "≤", ratio: 1.3 } },
      note: "time of the process",
      ours: async () => timed([`${root}/bin/swarm`, "statusline"], repository, /0\/16 done/),
      theirs: async () => bareNode(),
    },
  ];
}
