import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import type { Environment } from "./user-folders.ts";

/** The result of running a program that prints a secret. */
export interface SecretProgramEnd {
  /** The exit code of the program, or null if the program did not exit by itself. */
  readonly exitCode: number | null;
  readonly output: string;
  readonly errors: string;
  /**
   * The reason why the program has no exit code, such as a timeout or a signal; null if it has an exit code.
   */
  readonly reason: string | null;
}

export type RunSecretProgram = (
  program: string,
  args: readonly string[],
  how: { readonly folder: string; readonly env: Environment },
) => Promise<SecretProgramEnd>;

const maxBytes = 1024 * 1024;
/** The time in milliseconds to wait for output that is still in the pipe after a program has ended. */
const restMs = 500;

/**
 * Runs programs that print a secret, without a shell, without an input and with a timeout. Does not wait for
 * processes that a program leaves in the background, such as a key agent, because these may keep the output
 * pipe open forever.
 */
export function createSecretProgramRunner(limitMs = 30_000): RunSecretProgram {
  return async (program, args, { folder, env }) => {
    const running = spawn(program, [...args], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    const ended = Promise.withResolvers<Pick<SecretProgramEnd, "exitCode" | "reason">>();
    const giveUp = (reason: string): void => {
      running.kill("SIGKILL");
      ended.resolve({ exitCode: null, reason });
    };
    const limit = setTimeout(giveUp, limitMs, `the program took longer than ${limitMs / 1000} s`);
    let rest: NodeJS.Timeout | undefined;
    const output = gather(running.stdout, () => giveUp("the program wrote more than 1 MiB to stdout"));
    const errors = gather(running.stderr, () => giveUp("the program wrote more than 1 MiB to stderr"));
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

/** Collects a stream's text. Calls `onTooMuch` if the text exceeds `maxBytes`. */
function gather(stream: Readable, onTooMuch: () => void): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
    else onTooMuch();
  });
  return () => Buffer.concat(chunks).toString("utf8");
}
