import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Comparison } from "./compare.ts";

/** The built command. */
export const program: string = fileURLToPath(new URL("../bin/swarm", import.meta.url));

/** How long people and hooks wait for a word, against Node that does nothing. */
export function commandStart(repository: string, env: NodeJS.ProcessEnv): Comparison[] {
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
