import {
  type RunAsAgentOptions,
  type RunAsAgentResult,
  runProgramAsAgentUser,
} from "../machine/agent-user.ts";
import type { StartCommandTimeLimit } from "../machine/command-time-limits.ts";
import { describeProgramEnd, type ProgramEnd, requireExitCode } from "../machine/program-end.ts";

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
  ...["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false"],
  ...["-c", "gc.auto=0", "-c", "core.untrackedCache=false", "-c", "core.quotePath=false"],
  ...["-c", "protocol.allow=never", "-c", "protocol.file.allow=always"],
  ...["-c", "core.alternateRefsCommand=true", "-c", "log.showSignature=false"],
  // Prevents the repository's configuration from changing what git reads from the files.
  ...["-c", "core.autocrlf=false", "-c", "core.fileMode=true", "-c", "core.symlinks=true"],
  ...["-c", "core.ignoreCase=false", "-c", "core.sparseCheckout=false", "-c", "submodule.recurse=false"],
  ...[
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "core.excludesFile=/dev/null",
    "-c",
    "core.commitGraph=false",
  ],
  // Prevents the repository's configuration from making git run forever.
  ...["-c", "pack.window=10", "-c", "pack.depth=50", "-c", "pack.windowMemory=0"],
];

const environment: Readonly<Record<string, string>> = {
  ...{ GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", GIT_TERMINAL_PROMPT: "0" },
  ...{ GIT_OPTIONAL_LOCKS: "0", GIT_EDITOR: "true", LC_ALL: "C" },
  // git uses only the repository in the current folder, and ignores replaced and grafted commits.
  ...{ GIT_DIR: ".git", GIT_WORK_TREE: "." },
  ...{ GIT_ATTR_NOSYSTEM: "1", GIT_NO_REPLACE_OBJECTS: "1", GIT_GRAFT_FILE: "/nonexistent" },
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
  /**
   * Runs git and returns its exit code, for git commands that report their result as exit code. Throws if git
   * was killed or timed out.
   */
  runForExitCode(args: readonly string[]): Promise<number>;
  /**
   * Returns the command line and the environment variables of a git command. Callers use them to start git
   * themselves and to read its output as a stream.
   */
  commandLine(args: readonly string[]): {
    readonly command: readonly string[];
    readonly env: Record<string, string>;
  };
}

export function createGit(
  folder: string,
  env: Readonly<Record<string, string>>,
  limit: StartCommandTimeLimit,
): Git {
  const prepare = (args: readonly string[], more: Readonly<Record<string, string>> = {}) => ({
    command: ["git", ...settings, ...args],
    env: { ...env, ...environment, ...more },
  });
  const start = async (
    args: readonly string[],
    { env: more, withinMs, ...run }: GitRunOptions = {},
  ): Promise<RunAsAgentResult> => {
    using limited = limit(withinMs);
    return await runProgramAsAgentUser({ ...prepare(args, more), folder, deadline: limited.signal, ...run });
  };
  const printed = ({ stdout }: RunAsAgentResult): string => stdout.replace(/\n$/, "");
  return {
    async run(args, run) {
      const result = await start(args, run);
      if (answerOf(args, result) !== 0) throw new GitFailure(args, result);
      return printed(result);
    },
    async runOrNull(args) {
      const result = await start(args);
      return answerOf(args, result) === 0 ? printed(result) : null;
    },
    runForExitCode: async (args) => answerOf(args, await start(args)),
    commandLine: (args) => prepare(args),
  };
}
