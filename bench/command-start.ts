import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Bench } from "./bench.ts";
import type { Comparison } from "./compare.ts";
import { hookStart } from "./hook-start.ts";

/** The built command. */
export const program: string = fileURLToPath(new URL("../bin/swarm", import.meta.url));

/** How long people and hooks wait for a word, against Node that does nothing. */
export const commands: Bench = {
  title: "Commands, hooks and the status line",
  async prepare({ folder, env, isShort }) {
    const repository = join(folder, "repository");
    const withoutSwarm = join(folder, "plain");
    execFileSync("git", ["init", "--quiet", withoutSwarm]);
    makeRepository(repository, env);
    const comparisons = [...commandStart(repository, env), ...hookStart({ repository, withoutSwarm }, env)];
    return { comparisons: isShort ? comparisons.slice(0, 3) : comparisons };
  },
};

/** A repository with a swarm of sixteen, made as people make one. */
export function makeRepository(repository: string, env: NodeJS.ProcessEnv): void {
  execFileSync("git", ["init", "--quiet", repository]);
  const swarm = (...words: string[]): void => void execFileSync(program, words, { cwd: repository, env });
  swarm("state", "init");
  for (let index = 1; index <= 16; index += 1)
    swarm("state", "add", "-", `aimi-bench-${process.pid}-${index}`, `${index}-tasks.json`, `feat/${index}`);
}

function commandStart(repository: string, env: NodeJS.ProcessEnv): Comparison[] {
  const timed = (command: string, args: readonly string[], expected: RegExp) => async (): Promise<number> => {
    const started = performance.now();
    const { stdout, status } = spawnSync(command, args, { cwd: repository, env, encoding: "utf8" });
    const ms = performance.now() - started;
    if (status !== 0 || !expected.test(stdout))
      throw new Error(`${command} ${args.join(" ")} answered ${status}: ${stdout}`);
    return ms;
  };
  const bareNode = timed(process.execPath, ["--eval", "process.stdout.write('x')"], /^x$/);
  return [
    {
      name: "swarm --version",
      against: "bare Node",
      goal: { sign: "≤", ratio: 1.2 },
      note: "time of the process",
      ours: timed(program, ["--version"], /^\d+\.\d+/),
      theirs: bareNode,
    },
    {
      name: "swarm status",
      against: "bare Node",
      goal: { sign: "≤", ratio: 1.5 },
      note: "time of the process, a swarm of 16, no engine asked",
      ours: timed(program, ["status"], /16 workers/),
      theirs: bareNode,
    },
  ];
}
