import {
  type RunAsAgentOptions,
  type RunAsAgentResult,
  runProgramAsAgentUser,
} from "../machine/agent-user.ts";
import type { StartCommandTimeLimit } from "../machine/command-time-limits.ts";
import { requireExitCode } from "../machine/program-end.ts";

/** The folder with the repository, and the environment and the time limit of each command in it. */
export interface WorkFolder {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly limit: StartCommandTimeLimit;
}

/** Returns the command line that runs a shell script with the given arguments. */
export const shell = (script: string, ...args: string[]): string[] => ["sh", "-c", script, "sh", ...args];

/** Runs a command in the folder as the agent's Linux user, within its own time limit. */
export async function runInWorkFolder(
  { folder, env, limit }: WorkFolder,
  command: readonly string[],
  options: Pick<RunAsAgentOptions, "input" | "maxOutputLength"> = {},
): Promise<RunAsAgentResult> {
  using limited = limit();
  return await runProgramAsAgentUser({ command, env, folder, deadline: limited.signal, ...options });
}

/**
 * A shell script that prints the file at `$1` if it is a regular file or a symlink to one. Otherwise exits
 * with 3: if the file is a pipe, opening it could block forever.
 */
export const readRegularFileScript = '[ -f "$1" ] || exit 3; exec cat -- "$1"';

const maxFileLength = 16 << 20;

/**
 * Reads a regular file in the work folder; returns null if there is none at this path. Throws if the read was
 * cut off, instead of returning a part of the file.
 */
export async function readWorkFile(place: WorkFolder, path: string): Promise<string | null> {
  const command = shell(readRegularFileScript, path);
  const read = await runInWorkFolder(place, command, { maxOutputLength: maxFileLength });
  return requireExitCode(`reading ${path}`, read) === 0 ? read.stdout : null;
}
