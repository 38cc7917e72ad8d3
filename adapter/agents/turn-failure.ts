import { sanitizeText } from "../../src/text/sanitize-text.ts";
import type { TurnFailure } from "./agent.ts";

export function createTurnFailure(
  code: TurnFailure["code"],
  scope: TurnFailure["scope"],
  message: string,
): TurnFailure {
  return { kind: "failed", code, scope, message };
}

/** Returns a failure of this story's turn alone, after which another turn may succeed. */
export const agentCrash = (message: string): TurnFailure =>
  createTurnFailure("AGENT_CRASH", "story", message);

/** Returns the failure of a turn in which the agent's program exited and lacked `an answer` or `a result`. */
export function agentExitFailure(code: number, lacked: string, stderrTail: string): TurnFailure {
  const signal = code > 128 ? ` (signal ${code - 128})` : "";
  return agentCrash(
    `the agent exited with code ${code}${signal} and without ${lacked}${lastStderrLine(stderrTail)}`,
  );
}

export const agentNotFound = (stderrTail: string): TurnFailure =>
  createTurnFailure(
    "AGENT_NOT_FOUND",
    "worker",
    `the agent's program was not found${lastStderrLine(stderrTail)}`,
  );

/** Returns the last line that a program wrote to stderr, in the form in which it ends a failure's message. */
export function lastStderrLine(stderrTail: string): string {
  const last = stderrTail.trim().split("\n").at(-1) ?? "";
  return last === "" ? "" : `: ${sanitizeText(last, 300)}`;
}
