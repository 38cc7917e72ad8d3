import {
  type RunAsAgentOptions,
  type RunAsAgentResult,
  runProgramAsAgentUser,
} from "../machine/agent-user.ts";
import { describeProgramEnd, type ProgramEnd, requireExitCode } from "../machine/program-end.ts";
import type { WorkFolder } from "./work-folder.ts";

/** Thrown when a git command fails or exceeds its time limit. The message contains git's error output. */
export class GitFailure extends Error {
  constructor(
    args: readonly string[],
    { end, stderr }: { readonly end: ProgramEnd; readonly stderr: string },
  ) {
    const words = stderr.trim().slice(-500);
    super(`git ${args[0] ?? ""} ${describeProgramEnd(end)}${words === "" ? "" : `: ${words}`}`);
    this.name = "GitFailure";
  }
}

/**
 * Returns git's exit code. Throws `GitFailure` after a timeout, and `ProgramResultUnknownError` if git was killed or
 * did not start, because the repository may then be intact.
 */
function answerOf(args: readonly string[], result: RunAsAgentResult): number {
  // Counts a timeout as a failure of git, since the repository's content can make git run forever.
  if (result.end.kind === "deadline") throw new GitFailure(args, result);
  return requireExitCode(`git ${args[0] ?? ""}`, result);
}

/**
 * Command-line settings that override the repository's git configuration, to which the agent can write. They
 * keep git from running hooks, helpers or editors.
 */
const settings: readonly string[] = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "commit.gpgSign=false",
  "gc.auto=0",
  "core.untrackedCache=false",
  "core.quotePath=false",
  "protocol.allow=never",
  "protocol.file.allow=always",
  "core.alternateRefsCommand=true",
  "log.showSignature=false",
  // Prevents the repository's configuration from changing what git reads from the files.
  "core.autocrlf=false",
  "core.fileMode=true",
  "core.symlinks=true",
  "core.ignoreCase=false",
  "core.sparseCheckout=false",
  "submodule.recurse=false",
  "core.attributesFile=/dev/null",
  "core.excludesFile=/dev/null",
  "core.commitGraph=false",
  // Prevents the repository's configuration from making git run forever.
  "pack.window=10",
  "pack.depth=50",
  "pack.windowMemory=0",
].flatMap((setting) => ["-c", setting]);

const environment: Readonly<Record<string, string>> = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_EDITOR: "true",
  LC_ALL: "C",
  // git uses only the repository in the current folder, and ignores replaced and grafted commits.
  GIT_DIR: ".git",
  GIT_WORK_TREE: ".",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
  GIT_GRAFT_FILE: "/nonexistent",
};

export type GitRunOptions = Pick<RunAsAgentOptions, "input" | "maxOutputLength"> & {
  readonly env?: Readonly<Record<string, string>>;
  readonly withinMs?: number;
};

/**
 * Runs git in the workspace as the agent's Linux user. Root may lack access to the workspace, and hostile
 * files in it must not attack the adapter's supervisor, which runs as root.
 */
export interface Git {
  /** Runs git and returns its stdout without the last line break. Throws if git fails. */
  run(args: readonly string[], run?: GitRunOptions): Promise<string>;
  /**
   * Runs git and returns its stdout, or null if git exits with an error code. Throws if git was killed or
   * timed out.
   */
  runOrNull(args: readonly string[]): Promise<string | null>;
  /** Runs git and returns whether it exits with 0. Throws if git was killed or timed out. */
  succeeds(args: readonly string[]): Promise<boolean>;
  /**
   * Returns the command line and the environment variables of a git command. Callers use them to start git
   * themselves and to read its output as a stream.
   */
  commandLine(args: readonly string[]): {
    readonly command: readonly string[];
    readonly env: Record<string, string>;
  };
}

export function createGit({ folder, env, limit }: WorkFolder): Git {
  const commandLine: Git["commandLine"] = (args) => ({
    command: ["git", ...settings, ...args],
    env: { ...env, ...environment },
  });
  const start = async (
    args: readonly string[],
    { env: more, withinMs, ...run }: GitRunOptions = {},
  ): Promise<{ readonly code: number; readonly result: RunAsAgentResult; readonly printed: string }> => {
    const git = commandLine(args);
    using limited = limit(withinMs);
    const result = await runProgramAsAgentUser({
      command: git.command,
      env: { ...git.env, ...more },
      folder,
      deadline: limited.signal,
      ...run,
    });
    return { code: answerOf(args, result), result, printed: result.stdout.replace(/\n$/, "") };
  };
  return {
    async run(args, run) {
      const { code, result, printed } = await start(args, run);
      if (code !== 0) throw new GitFailure(args, result);
      return printed;
    },
    async runOrNull(args) {
      const { code, printed } = await start(args);
      return code === 0 ? printed : null;
    },
    succeeds: async (args) => (await start(args)).code === 0,
    commandLine,
  };
}
