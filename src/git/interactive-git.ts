import { createGitError, type GitStartOptions, startGit } from "./start-git.ts";

/**
 * A running git process, such as `git cat-file --batch`, that answers requests on stdin until the caller ends
 * it.
 */
export interface InteractiveGit {
  write(text: string): void;
  /** Reads the next line of git's output, without the line break. */
  readonly line: () => Promise<string>;
  readonly bytes: (count: number) => Promise<Buffer>;
  /** Ends git and discards its unread output. */
  end(): Promise<void>;
}

const maxLineLength = 64 * 1024;

export function startInteractiveGit(args: readonly string[], start: GitStartOptions): InteractiveGit {
  const { child, ended, stop } = startGit(args, { ...start, stdin: "pipe" });
  const { stdin, stdout } = child;
  if (!stdin || !stdout) throw new Error("git was started without pipes for stdin and stdout");
  // Ignore write errors: the reader of the missing answer reports how git ended.
  stdin.on("error", () => {});
  const pieces: AsyncIterator<Buffer> = stdout[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);

  const more = async (): Promise<void> => {
    const { value, done } = await pieces.next();
    if (!done) {
      held = held.length === 0 ? value : Buffer.concat([held, value]);
      return;
    }
    const { reason } = await ended;
    start.signal?.throwIfAborted();
    throw createGitError(args, reason);
  };

  const take = (count: number): Buffer => {
    const taken = held.subarray(0, count);
    held = held.subarray(count);
    return taken;
  };

  return {
    write: (text) => void stdin.write(text),

    async line() {
      for (let from = 0; ; ) {
        const end = held.indexOf(10, from);
        if (end >= 0) return take(end + 1).toString("utf8", 0, end);
        if (held.length > maxLineLength)
          throw createGitError(args, "a line of git's answer is longer than 64 KiB");
        from = held.length;
        await more();
      }
    },

    async bytes(count) {
      // Copy the bytes, because a view of a few bytes would keep the whole chunk in memory.
      const taken = Buffer.allocUnsafe(count);
      for (let length = 0; ; await more()) {
        length += take(Math.min(count - length, held.length)).copy(taken, length);
        if (length === count) return taken;
      }
    },

    async end() {
      stdin.end();
      stop();
      // Close stdout, because `ended` waits for the end of the streams, and nothing reads them now.
      stdout.destroy();
      await ended;
    },
  };
}
