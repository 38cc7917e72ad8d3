import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import type { Environment } from "./user-folders.ts";

/** How a program ended that was asked for a secret. */
export interface SecretProgramEnd {
  /** Null when it did not end by itself. */
  readonly exitCode: number | null;
  readonly output: string;
  readonly errors: string;
  /** Why there is no exit code. */
  readonly reason: string | null;
}

export type RunSecretProgram = (
  program: string,
  args: readonly string[],
  how: { readonly folder: string; readonly env: Environment },
) => Promise<SecretProgramEnd>;

const mostBytes = 1024 * 1024;
/** For what is still in the pipe when a program has ended. */
const restMs = 500;

/**
 * Runs programs that print a secret: no shell, nothing on their stdin, and no longer than half a minute. Waits for them, and not for what
 * they leave behind in the background, like an agent that keeps a key: that may hold on to the output for ever.
 */
export function secretPrograms(limitMs = 30_000): RunSecretProgram {
  return async (program, args, { folder, env }) => {
    const running = spawn(program, [...args], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    const ended = Promise.withResolvers<Pick<SecretProgramEnd, "exitCode" | "reason">>();
    const giveUp = (reason: string): void => {
      running.kill("SIGKILL");
      ended.resolve({ exitCode: null, reason });
    };
    const limit = setTimeout(giveUp, limitMs, `it took longer than ${limitMs / 1000} s`);
    let rest: NodeJS.Timeout | undefined;
    const output = gather(running.stdout, () => giveUp("it writes without end"));
    const errors = gather(running.stderr, () => giveUp("it writes without end"));
    running.once("error", ({ code, message }: NodeJS.ErrnoException) => giveUp(code ?? message));
    running.once("close", (exitCode, reason) => ended.resolve({ exitCode, reason }));
    running.once("exit", (exitCode, reason) => {
      rest = setTimeout(ended.resolve, restMs, { exitCode, reason });
    });
    try {
      return { ...(await ended.promise), output: output(), errors: errors() };
    } finally {
      clearTimeout(limit);
      clearTimeout(rest);
      running.stdout.destroy();
      running.stderr.destroy();
    }
  };
}

/** What has come so far; at more than a program can have to say, `onTooMuch`. */
function gather(stream: Readable, onTooMuch: () => void): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= mostBytes) chunks.push(chunk);
    else onTooMuch();
  });
  return () => Buffer.concat(chunks).toString("utf8");
}
