import { execa } from "execa";
import { sanitizeLines } from "../text/sanitize-text.ts";
import type { ClaudeProgram } from "./claude-code.ts";

const limitMs = 120_000;

/**
 * Runs the `claude` program that is found through PATH, without a shell. The program gets no input, so it
 * cannot prompt the user.
 */
export const claudeProgram: ClaudeProgram = {
  async version() {
    const { stdout, exitCode } = await execa("claude", ["--version"], {
      ...{ reject: false, stdin: "ignore", timeout: limitMs },
    });
    return exitCode === 0 ? (stdout.split("\n")[0] ?? "") : null;
  },

  async run(args) {
    const { all, exitCode } = await execa("claude", [...args], {
      ...{ reject: false, stdin: "ignore", timeout: limitMs, all: true },
    });
    return { exitCode: exitCode ?? -1, output: sanitizeLines(all ?? "") };
  },
};
