import { runProcess } from "../cli/process.ts";
import { killRunningGit } from "../git/start-git.ts";
import type { CrashHook } from "../machine/crash-points.ts";
import { openProject } from "./open-project.ts";

/** Parts of the program that tests replace. */
export interface ProgramReplacements {
  /** Called at named points of the program, at which a test may kill the process. */
  readonly crashPoint?: CrashHook;
  readonly clock?: () => Date;
}

/** Runs a command of swarm, and returns the exit code of the program. */
export async function runProgram(
  words: readonly string[],
  replacements: ProgramReplacements = {},
): Promise<number> {
  const env = process.env;
  process.on("exit", killRunningGit);
  return runProcess(words, {
    env,
    onStopSignal: (stop) => process.on("SIGINT", stop).on("SIGTERM", stop),
    openProject: (flags, command) =>
      openProject({ env, folder: process.cwd(), command, flags, ...replacements }),
  });
}
