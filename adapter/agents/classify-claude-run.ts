import { sanitizeText } from "../../src/text/sanitize-text.ts";
import type { TurnEnd, TurnFailure } from "./agent.ts";
import type { ClaudeResult, ClaudeRunState } from "./claude-run-state.ts";
import {
  agentCrash,
  agentExitFailure,
  agentNotFound,
  createTurnFailure,
  lastStderrLine,
} from "./turn-failure.ts";

/**
 * How Claude Code ended: by itself, because the adapter stopped it, or because it waited too long for
 * background programs after its result, so that the adapter interrupted it (`left-waiting`).
 */
export interface ClaudeExit {
  readonly code: number;
  readonly stderrTail: string;
  readonly manner: "by-itself" | "stopped" | "left-waiting";
}

/**
 * Whether the model's API refused the API key twice in a row. The adapter then stops Claude Code, because it
 * would retry for minutes.
 */
export function isApiKeyRefused(facts: ClaudeRunState): boolean {
  return facts.refusedKeys >= 2;
}

/**
 * Decides whether a turn of Claude Code succeeded or failed. Ignores the result's field `subtype`, which is
 * unreliable, and the text that the model wrote.
 */
export function classifyClaudeRun(facts: ClaudeRunState, exit: ClaudeExit): TurnEnd {
  const { result } = facts;
  if (isApiKeyRefused(facts) && (result === null || result.isError))
    return accessDenied("the model's API refused the API key (401)");
  if (result === null) return withoutResult(facts, exit);
  if (result.isError)
    return exit.manner === "stopped"
      ? agentCrash("the adapter stopped the agent")
      : judgeError(facts, result);
  if (result.deniedTools.length > 0)
    return agentCrash(
      `the agent was not allowed to use ${[...new Set(result.deniedTools)].join(", ")}, and the agent continued without these tools`,
    );
  if (exit.manner === "by-itself" && exit.code !== 0)
    return agentCrash(
      `the agent reported success but exited with code ${exit.code}${lastStderrLine(exit.stderrTail)}`,
    );
  return { kind: "ended" };
}

function withoutResult(facts: ClaudeRunState, exit: ClaudeExit): TurnFailure {
  if (exit.manner === "stopped") return agentCrash("the adapter stopped the agent");
  if (exit.code === 127 && !facts.hasBegun) return agentNotFound(exit.stderrTail);
  return agentExitFailure(exit.code, "a result", exit.stderrTail);
}

function judgeError(facts: ClaudeRunState, result: ClaudeResult): TurnFailure {
  const { kind, status } = facts.apiError ?? { kind: null, status: null };
  const words = result.text === "" ? "" : `: ${sanitizeText(result.text, 300)}`;
  switch (result.terminalReason) {
    case "max_turns":
      return reached("story", "the agent reached its maximum number of turns");
    case "budget_exhausted":
      return reached("story", "the agent used up its budget");
    case "prompt_too_long":
      return reached("story", `the conversation is too long for the model${words}`);
  }
  if (result.stopReason === "refusal" || facts.modelRefused)
    return agentCrash("the model refused to continue");
  if (kind === "authentication_failed" || status === 401 || status === 403)
    return accessDenied(
      `the model's API refused the agent's credentials${status === null ? "" : ` (${status})`}${words}`,
    );
  if (kind === "billing_error")
    return reached("worker", `the account at the model's provider has no credit${words}`);
  if (kind === "rate_limit" || status === 429)
    return reached("worker", `the model's API reported a rate limit (429)${words}`);
  if (kind === "model_not_found" || status === 404)
    return createTurnFailure("AGENT_CRASH", "worker", `the model was not found${words}`);
  if (facts.apiError)
    return agentCrash(`the model's API failed${status === null ? "" : ` (${status})`}${words}`);
  return agentCrash(`the agent gave up (terminal reason: ${result.terminalReason ?? "none"})${words}`);
}

function accessDenied(message: string): TurnFailure {
  return createTurnFailure("AGENT_AUTH_FAILED", "worker", message);
}

function reached(scope: TurnFailure["scope"], message: string): TurnFailure {
  return createTurnFailure("AGENT_LIMIT_REACHED", scope, message);
}
