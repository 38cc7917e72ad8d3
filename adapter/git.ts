import { runAsAgent, type UserResult, type UserRun } from "./agent-user.ts";

/** A git command that failed, in its own words. */
export class GitFailure extends Error {
  readonly code: number;

  constructor(
    args: readonly string[],
    { code, stderr, isTimedOut }: Pick<UserResult, "code" | "stderr" | "isTimedOut">,
  ) {
    const end = isTimedOut ? "did not end" : `failed (exit ${code})`;
    super(`git ${args[0] ?? ""} ${end}: ${stderr.trim().slice(-500)}`);
    this.name = "GitFailure";
    this.code = code;
  }
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
 * Begins the time that one command may take. A file that lies in the repository may be a pipe that nobody writes to: whoever
 * reads it would wait for ever.
 */
export type CommandLimit = () => Disposable & { readonly signal: AbortSignal };

export type GitRun = Pick<UserRun, "input" | "keep"> & { readonly env?: Readonly<Record<string, string>> };

/** git in the workspace, as the agent's user: root may not even read there, and nothing that lies there can reach us. */
export interface Git {
  /** What it printed, without the last line break; a failure is thrown. */
  run(args: readonly string[], run?: GitRun): Promise<string>;
  /** Its exit code, for questions that are answered by it. */
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
  return {
    async run(args, { env: more, ...run } = {}) {
      using limited = limit();
      const result = await runAsAgent({ ...prepare(args, more), folder, deadline: limited.signal, ...run });
      if (result.code !== 0) throw new GitFailure(args, result);
      return result.stdout.replace(/\n$/, "");
    },
    async ask(args) {
      using limited = limit();
      return (await runAsAgent({ ...prepare(args), folder, deadline: limited.signal })).code;
    },
    command: (args) => prepare(args),
  };
}
