import { execa } from "execa";
import { sanitizeLines } from "../text/sanitize-text.ts";

const limitMs = 120_000;

/** Returns the version of the program `claude` (Claude Code); null if `claude` is not installed. */
export async function readClaudeVersion(): Promise<string | null> {
  const { stdout, exitCode } = await execa("claude", ["--version"], {
    reject: false,
    stdin: "ignore",
    timeout: limitMs,
  });
  return exitCode === 0 ? (stdout.split("\n")[0] ?? "") : null;
}

/**
 * Runs the `claude` program that is found through PATH, without a shell. The program gets no input, so it
 * cannot prompt the user.
 */
export async function runClaude(
  args: readonly string[],
): Promise<{ readonly exitCode: number; readonly output: string }> {
  const { all, exitCode } = await execa("claude", [...args], {
    reject: false,
    stdin: "ignore",
    timeout: limitMs,
    all: true,
  });
  return { exitCode: exitCode ?? -1, output: sanitizeLines(all ?? "") };
}
