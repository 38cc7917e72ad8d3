import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import type { EnvironmentVariables } from "../machine/user-folders.ts";

/** The result of running a program that prints a secret. */
export interface SecretProgramEnd {
  /** The program's exit code, or null if a signal ended the program or it could not start. */
  readonly exitCode: number | null;
  readonly output: string;
  readonly errors: string;
  /**
   * The reason why the program has no exit code, such as a timeout or a signal; null if the program has an
   * exit code.
   */
  readonly reason: string | null;
}

export type RunSecretProgram = (
  program: string,
  args: readonly string[],
  how: { readonly folder: string; readonly env: EnvironmentVariables },
) => Promise<SecretProgramEnd>;

const maxBytes = 1024 * 1024;
/** The time in milliseconds to wait, after a program has ended, for output that is still in its pipe. */
const restMs = 500;

/**
 * Creates the function that runs programs that print a secret: without a shell, without input and with a
 * timeout. It does not wait for background processes of a program, such as a key agent, because these may
 * keep the output pipe open forever.
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

/**
 * Collects a stream's text, and returns a function that returns the collected text. Calls `onTooMuch` if the
 * text exceeds `maxBytes`.
 */
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
