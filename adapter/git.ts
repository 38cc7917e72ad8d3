import { runAsAgent, type UserResult, type UserRun } from "./agent-user.ts";
import { describeEnd, exitCodeOf, type ProgramEnd } from "./program-end.ts";

/** A git command that failed, or did not end in its time, in its own words. */
export class GitFailure extends Error {
  constructor(
    args: readonly string[],
    { end, stderr }: { readonly end: ProgramEnd; readonly stderr: string },
  ) {
    const words = stderr.trim().slice(-500);
    super(`git ${args[0] ?? ""} ${describeEnd(end)}${words === "" ? "" : `: ${words}`}`);
    this.name = "GitFailure";
  }
}

/** The code that git answered with. A git that was killed or halted has said nothing about the repository. */
function answerOf(args: readonly string[], result: UserResult): number {
  // What lies in the repository can make it take for ever.
  if (result.end.kind === "deadline") throw new GitFailure(args, result);
  return exitCodeOf(`git ${args[0] ?? ""}`, result);
}

/** Whatever the agent wrote into the repository's configuration, none of this runs a hook, a helper or an editor. */
const settings: readonly string[] = [
  ...["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgSign=false"],
  ...["-c", "gc.auto=0", "-c", "core.untrackedCache=false", "-c", "core.quotePath=false"],
  ...["-c", "protocol.allow=never", "-c", "protocol.file.allow=always"],
  ...["-c", "core.alternateRefsCommand=true", "-c", "log.showSignature=false"],
  // Nor does any of it change what is taken from the files.
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
  // Or makes it take for ever.
  ...["-c", "pack.window=10", "-c", "pack.depth=50", "-c", "pack.windowMemory=0"],
];

const environment: Readonly<Record<string, string>> = {
  ...{ GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: "/dev/null", GIT_TERMINAL_PROMPT: "0" },
  ...{ GIT_OPTIONAL_LOCKS: "0", GIT_EDITOR: "true", LC_ALL: "C" },
  // The folder that we are in and no other, and commits as they are.
  ...{ GIT_DIR: ".git", GIT_WORK_TREE: "." },
  ...{ GIT_ATTR_NOSYSTEM: "1", GIT_NO_REPLACE_OBJECTS: "1", GIT_GRAFT_FILE: "/nonexistent" },
};

/**
 * Begins the time that one command may take, two minutes where nothing else is said. A file that lies in the repository may be a pipe that nobody writes to: whoever
 * reads it would wait for ever.
 */
export type CommandLimit = (ms?: number) => Disposable & { readonly signal: AbortSignal };

export type GitRun = Pick<UserRun, "input" | "keep"> & {
  readonly env?: Readonly<Record<string, string>>;
  readonly withinMs?: number;
};

/** git in the workspace, as the agent's user: root may not even read there, and nothing that lies there can reach us. */
export interface Git {
  /** What it printed, without the last line break; a failure is thrown. */
  run(args: readonly string[], run?: GitRun): Promise<string>;
  /** What it printed; null where it answers with a failure. One that gives no answer is thrown. */
  find(args: readonly string[]): Promise<string | null>;
  /** Its exit code, for questions that are answered by it. One that gives no answer is thrown. */
  ask(args: readonly string[]): Promise<number>;
  /** Command and environment, for who streams its output. */
  command(args: readonly string[]): {
    readonly command: readonly string[];
    readonly env: Record<string, string>;
  };
}

export function gitIn(folder: string, env: Readonly<Record<string, string>>, limit: CommandLimit): Git {
  const prepare = (args: readonly string[], more: Readonly<Record<string, string>> = {}) => ({
    command: ["git", ...settings, ...args],
    env: { ...env, ...environment, ...more },
  });
  const start = async (
    args: readonly string[],
    { env: more, withinMs, ...run }: GitRun = {},
  ): Promise<UserResult> => {
    using limited = limit(withinMs);
    return await runAsAgent({ ...prepare(args, more), folder, deadline: limited.signal, ...run });
  };
  const printed = ({ stdout }: UserResult): string => stdout.replace(/\n$/, "");
  return {
    async run(args, run) {
      const result = await start(args, run);
      if (answerOf(args, result) !== 0) throw new GitFailure(args, result);
      return printed(result);
    },
    async find(args) {
      const result = await start(args);
      return answerOf(args, result) === 0 ? printed(result) : null;
    },
    ask: async (args) => answerOf(args, await start(args)),
    command: (args) => prepare(args),
  };
}
