import { sanitizeText } from "../../src/text/sanitize-text.ts";
import type { ModelFailure } from "./acp-turn-state.ts";
import type { TurnEnd, TurnFailure } from "./agent.ts";
import { RpcClosedError, RpcError, type RpcFailure } from "./json-rpc.ts";
import { readStringField, toJsonObject } from "./read-json-fields.ts";
import { agentCrash, agentExitFailure, agentNotFound, createTurnFailure } from "./turn-failure.ts";

const failureByStopReason: ReadonlyMap<string | null, TurnFailure> = new Map([
  [
    "max_tokens",
    createTurnFailure(
      "AGENT_LIMIT_REACHED",
      "story",
      "the agent reached the model's token limit (max_tokens)",
    ),
  ],
  [
    "max_turn_requests",
    createTurnFailure(
      "AGENT_LIMIT_REACHED",
      "story",
      "the agent reached its limit of requests to the model (max_turn_requests)",
    ),
  ],
  ["refusal", agentCrash("the model refused to continue")],
  ["cancelled", agentCrash("the agent's turn was cancelled")],
]);

/**
 * Decides from the agent's `stopReason` whether a turn ended or failed. Only `end_turn` means that the agent
 * considers its work done.
 */
export function classifyStopReason(stopReason: string | null): TurnEnd {
  if (stopReason === "end_turn") return { kind: "ended" };
  return (
    failureByStopReason.get(stopReason) ??
    agentCrash(`the agent stopped with an unknown stop reason: ${sanitizeText(stopReason ?? "none")}`)
  );
}

/** Returns the failure of a turn in which the model's API failed. The turn's `stopReason` does not matter. */
export function classifyModelFailure({ status }: ModelFailure): TurnFailure {
  return (
    judgeStatus(status, `the model's API answered ${status}`) ??
    agentCrash(`the model's API failed${status === null ? "" : ` (${status})`}`)
  );
}

/**
 * Returns the failure of a turn in which a JSON-RPC request to the agent failed. `exit` is how the agent's
 * program ended.
 */
export function classifyRpcFailure(
  error: RpcFailure,
  { code, stderrTail }: { readonly code: number; readonly stderrTail: string },
): TurnFailure {
  const words = sanitizeText(error.message, 300);
  if (error instanceof RpcClosedError)
    return code === 127 ? agentNotFound(stderrTail) : agentExitFailure(code, "an answer", stderrTail);
  if (!(error instanceof RpcError))
    return agentCrash(`the agent violated the Agent Client Protocol: ${words}`);
  // Agents that call models by HTTP report the HTTP status as the error's code, or the kind of error as `errorKind`.
  const kind = readStringField(toJsonObject(error.details), "errorKind");
  const byStatus = judgeStatus(error.code, words);
  if (byStatus) return byStatus;
  if (error.code === authRequired || kind === "authentication_failed") return accessDenied(words);
  if (kind === "rate_limit") return rateLimit(words);
  if (kind === "billing_error")
    return createTurnFailure(
      "AGENT_LIMIT_REACHED",
      "worker",
      `the account at the model's provider has no credit: ${words}`,
    );
  if (kind === "model_not_found")
    return createTurnFailure("AGENT_CRASH", "worker", `the model was not found: ${words}`);
  return agentCrash(`the agent answered a request with an error: ${words} (${error.code})`);
}

const authRequired = -32000;

function judgeStatus(status: number | null, words: string): TurnFailure | null {
  if (status === 401 || status === 403) return accessDenied(words);
  return status === 429 ? rateLimit(words) : null;
}

function accessDenied(words: string): TurnFailure {
  return createTurnFailure(
    "AGENT_AUTH_FAILED",
    "worker",
    `the model's API refused the agent's credentials: ${words}`,
  );
}

function rateLimit(words: string): TurnFailure {
  return createTurnFailure(
    "AGENT_LIMIT_REACHED",
    "worker",
    `the model's API reported a rate limit: ${words}`,
  );
}
