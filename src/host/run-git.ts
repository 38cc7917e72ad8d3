import type { Readable } from "node:stream";
import { execa } from "execa";
import { cleanText } from "../domain/clean-text.ts";
import { showBytes, showDuration } from "../domain/duration.ts";
import { SwarmError } from "../domain/errors.ts";

/** By these, a hook of git that calls us would send git to another repository than the folder's. */
export const elsewhere: Readonly<Record<string, undefined>> = {
  ...{ GIT_DIR: undefined, GIT_WORK_TREE: undefined, GIT_COMMON_DIR: undefined, GIT_INDEX_FILE: undefined },
  ...{ GIT_OBJECT_DIRECTORY: undefined, GIT_ALTERNATE_OBJECT_DIRECTORIES: undefined },
  ...{ GIT_NAMESPACE: undefined, GIT_SHALLOW_FILE: undefined, GIT_GRAFT_FILE: undefined },
  ...{ GIT_QUARANTINE_PATH: undefined, GIT_PREFIX: undefined },
};

const always = {
  ...{ GIT_TERMINAL_PROMPT: "0", GIT_OPTIONAL_LOCKS: "0", GIT_NO_REPLACE_OBJECTS: "1", LC_ALL: "C" },
};

export interface GitRun {
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: Uint8Array | Readable;
  readonly mostBytes?: number;
  readonly limitMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface GitEnd {
  /** Undefined when it did not end by itself. */
  readonly exitCode: number | undefined;
  readonly output: Buffer;
  /** Why it failed, where it did: git's own words, clean to be shown. */
  readonly reason: string;
  /** It had more to say than `mostBytes`, and was ended. */
  readonly isCut: boolean;
  readonly isTimedOut: boolean;
}

const longestAnswer = 256 * 1024 * 1024;

/** Runs git with an argument array and nothing that asks. Ends with the signal by throwing its reason. */
export async function runGit(
  args: readonly string[],
  { folder, env, input, mostBytes = longestAnswer, limitMs, signal }: GitRun,
): Promise<GitEnd> {
  signal?.throwIfAborted();
  const { stdout, stderr, exitCode, isMaxBuffer, timedOut, code } = await execa("git", [...args], {
    cwd: folder,
    ...{ reject: false, encoding: "buffer", stripFinalNewline: false, maxBuffer: mostBytes },
    ...(input ? { input } : { stdin: "ignore" as const }),
    ...(limitMs !== undefined && { timeout: limitMs }),
    ...(signal && { cancelSignal: signal }),
    env: { ...always, ...elsewhere, ...env },
  });
  signal?.throwIfAborted();
  const own = cleanText(Buffer.from(stderr).toString().trim(), 400);
  const reason = isMaxBuffer
    ? `its answer is longer than ${showBytes(mostBytes)}`
    : timedOut
      ? `it took longer than ${showDuration(limitMs ?? 0)}`
      : code === "ENOENT"
        ? "git is not installed"
        : own || `exit ${exitCode ?? "by a signal"}`;
  return { exitCode, reason, output: Buffer.from(stdout), isCut: isMaxBuffer, isTimedOut: timedOut };
}

/** What git writes, as it comes; GIT_FAILED in the end where it failed. Whoever stops reading ends it. */
export async function* streamGit(
  args: readonly string[],
  { folder, env, limitMs, signal }: Pick<GitRun, "folder" | "env" | "limitMs" | "signal">,
): AsyncGenerator<Uint8Array> {
  signal?.throwIfAborted();
  const git = execa("git", [...args], {
    cwd: folder,
    ...{ reject: false, encoding: "buffer", stdin: "ignore", buffer: { stdout: false } },
    ...(limitMs !== undefined && { timeout: limitMs }),
    ...(signal && { cancelSignal: signal }),
    env: { ...always, ...elsewhere, ...env },
  });
  try {
    for await (const chunk of git.stdout) yield chunk;
  } finally {
    git.kill();
    await git;
  }
  signal?.throwIfAborted();
  const { exitCode, stderr } = await git;
  if (exitCode !== 0) throw failure(args, stderr, exitCode);
}

function failure(args: readonly string[], stderr: Uint8Array, exitCode: number | undefined): SwarmError {
  const reason = cleanText(Buffer.from(stderr).toString().trim(), 400) || `exit ${exitCode ?? "by a signal"}`;
  const command = args.find((word) => /^[a-z][a-z-]*$/.test(word)) ?? "";
  return new SwarmError("GIT_FAILED", { command, reason });
}

/** A git that answers questions for as long as it is asked. */
export interface GitTalk {
  write(text: string): void;
  /** The next line of its answer, without its end. */
  readonly line: () => Promise<string>;
  readonly bytes: (count: number) => Promise<Buffer>;
  /** It has been asked enough, whatever it still has to say. */
  end(): Promise<void>;
}

const longestLine = 64 * 1024;

export function talkToGit(
  args: readonly string[],
  { folder, env, limitMs, signal }: Pick<GitRun, "folder" | "env" | "limitMs" | "signal">,
): GitTalk {
  signal?.throwIfAborted();
  const git = execa("git", [...args], {
    cwd: folder,
    ...{ reject: false, encoding: "buffer", buffer: { stdout: false } },
    ...(limitMs !== undefined && { timeout: limitMs }),
    ...(signal && { cancelSignal: signal }),
    env: { ...always, ...elsewhere, ...env },
  });
  // How it ended is seen where its answer is missing.
  git.stdin.on("error", () => {});
  const pieces = git.stdout.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  let held: Buffer = Buffer.alloc(0);

  const more = async (): Promise<void> => {
    const { value, done } = await pieces.next();
    if (!done) {
      held = held.length === 0 ? value : Buffer.concat([held, value]);
      return;
    }
    const { exitCode, stderr } = await git;
    signal?.throwIfAborted();
    throw failure(args, stderr, exitCode);
  };

  const take = (count: number): Buffer => {
    const taken = held.subarray(0, count);
    held = held.subarray(count);
    return taken;
  };

  return {
    write: (text) => void git.stdin.write(text),

    async line() {
      for (let from = 0; ; ) {
        const end = held.indexOf(10, from);
        if (end >= 0) return take(end + 1).toString("utf8", 0, end);
        if (held.length > longestLine) throw failure(args, Buffer.from("its answer is no line"), undefined);
        from = held.length;
        await more();
      }
    },

    async bytes(count) {
      if (count <= held.length) return take(count);
      const parts = [held];
      let length = held.length;
      while (length < count) {
        held = Buffer.alloc(0);
        await more();
        parts.push(held);
        length += held.length;
      }
      held = Buffer.concat(parts, length);
      return take(count);
    },

    async end() {
      git.stdin.end();
      git.kill();
      await git;
    },
  };
}
