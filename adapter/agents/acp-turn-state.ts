import type { ActivityKind } from "../../src/contract/acp.ts";
import { removeOldestEntries } from "../../src/text/remove-oldest.ts";
import type { AgentActivity, TurnUsage } from "./agent.ts";
import { describePlan, firstLine } from "./describe-tool-call.ts";
import {
  type JsonObject,
  readCountField,
  readIdField,
  readNumberField,
  readStringField,
  toJsonObject,
  toJsonObjects,
} from "./read-json-fields.ts";

interface Tool {
  readonly kind: ActivityKind;
  readonly summary: string;
  readonly state: "open" | "ended";
}

/** What the adapter has learned so far from the updates that the agent sent during a turn. */
export interface AcpTurnState {
  /**
   * The newest tool calls by ID. The adapter changes this map in place, because copying it for each update
   * would be slow.
   */
  readonly tools: Map<string, Tool>;
  /**
   * The beginning of the message that the agent is sending. Null once the adapter has reported the message's
   * first line, since it needs only that line.
   */
  readonly message: string | null;
  readonly messageId: string | null;
  /** The cost of the whole conversation so far in US dollars; null if the agent does not report it. */
  readonly totalCostUsd: number | null;
  /**
   * The failure of the model during this turn; null if there was none. Only Codex reports such a failure, and
   * then ends the turn as if it had succeeded.
   */
  readonly modelFailure: ModelFailure | null;
  /**
   * The HTTP status of the last model call that failed and that the agent retries. If the agent gives up,
   * `modelFailure` gets this status.
   */
  readonly lastStatus: number | null;
}

export interface ModelFailure {
  readonly status: number | null;
}

export interface AcpUpdateResult {
  readonly facts: AcpTurnState;
  readonly activities: readonly AgentActivity[];
}

export const createAcpTurnState = (): AcpTurnState => ({
  tools: new Map(),
  message: "",
  messageId: null,
  totalCostUsd: null,
  modelFailure: null,
  lastStatus: null,
});

/**
 * Applies the `update` of a `session/update` notification to the turn's state. Returns the new state and the
 * activities to report.
 */
export function applyAcpUpdate(facts: AcpTurnState, update: JsonObject): AcpUpdateResult {
  switch (update["sessionUpdate"]) {
    case "agent_message_chunk":
      return readChunk(facts, update);
    case "tool_call":
    case "tool_call_update":
      return afterMessage(facts, (ended) => readTool(ended, update));
    case "plan":
      return afterMessage(facts, (ended) =>
        step(ended, [{ kind: "plan", summary: describePlan(toJsonObjects(update["entries"]), "content") }]),
      );
    case "session_info_update":
      return readAside(facts, toJsonObject(toJsonObject(update["_meta"])["codex"]));
    case "usage_update":
      return step({ ...facts, totalCostUsd: costOf(update) ?? facts.totalCostUsd });
    default:
      return step(facts);
  }
}

/**
 * Applies the tool call in a permission request to the turn's state. This is necessary because some agents
 * ask for permission before they report the tool call.
 */
export function applyAcpPermissionRequest(facts: AcpTurnState, request: JsonObject): AcpUpdateResult {
  return afterMessage(facts, (ended) => readTool(ended, toJsonObject(request["toolCall"])));
}

/**
 * Reports the first line of the agent's current message, unless it is already reported. Called at the end of
 * a message or a turn.
 */
export function flushAgentMessage(facts: AcpTurnState): AcpUpdateResult {
  const summary = firstLine(facts.message ?? "");
  return step({ ...facts, message: "" }, summary === "" ? [] : [{ kind: "text", summary }]);
}

/**
 * Returns an activity with the state `ended` for each tool call that was still open when the agent's turn
 * ended.
 */
export function endOpenToolCalls({ tools }: AcpTurnState): AgentActivity[] {
  return [...tools].flatMap(([id, { kind, summary, state }]) =>
    state === "open" ? [{ kind, summary, tool: { id, state: "ended" } } satisfies AgentActivity] : [],
  );
}

/**
 * Computes the usage of a turn from the agent's answer to the prompt, or null if the answer contains none.
 * Subtracts `earlierCostUsd`, because agents report the cost of the whole conversation.
 */
export function computeTurnUsage(
  answer: JsonObject,
  { totalCostUsd }: AcpTurnState,
  earlierCostUsd: number | null,
): TurnUsage | null {
  const isKnown = totalCostUsd !== null && earlierCostUsd !== null;
  const cost = isKnown ? { costUsd: Math.max(0, totalCostUsd - earlierCostUsd) } : {};
  const usage = toJsonObject(answer["usage"]);
  if (Object.keys(usage).length > 0)
    return {
      inputTokens: readCountField(usage, "inputTokens"),
      // Providers bill the tokens of thoughts as output.
      outputTokens: readCountField(usage, "outputTokens") + readCountField(usage, "thoughtTokens"),
      cacheReadTokens: readCountField(usage, "cachedReadTokens"),
      cacheWriteTokens: readCountField(usage, "cachedWriteTokens"),
      ...cost,
    };

  // Gemini reports its usage in this metadata, since it is older than the protocol's own `usage` field.
  const quota = toJsonObject(toJsonObject(toJsonObject(answer["_meta"])["quota"])["token_count"]);
  const inputTokens = readCountField(quota, "input_tokens");
  const outputTokens = readCountField(quota, "output_tokens");
  if (!isKnown && inputTokens + outputTokens === 0) return null;
  return { inputTokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, ...cost };
}

function readChunk(facts: AcpTurnState, update: JsonObject): AcpUpdateResult {
  const messageId = readIdField(update, "messageId");
  if (messageId !== facts.messageId)
    return afterMessage(facts, (ended) => readChunk({ ...ended, messageId }, update));
  if (facts.message === null) return step(facts);
  const message = facts.message + (readStringField(toJsonObject(update["content"]), "text") ?? "");
  const isReportedNow = message.length > 300 || message.trimStart().includes("\n");
  if (!isReportedNow) return step({ ...facts, message });
  return step({ ...facts, message: null }, [{ kind: "text", summary: firstLine(message) }]);
}

function readAside(facts: AcpTurnState, codex: JsonObject): AcpUpdateResult {
  const thread = readStringField(toJsonObject(codex["threadStatus"]), "type");
  if (thread === "systemError") return step({ ...facts, modelFailure: { status: facts.lastStatus } });
  if (thread === "active") return step({ ...facts, modelFailure: null });
  const error = toJsonObject(codex["error"]);
  const words = firstLine(
    `${readStringField(error, "message") ?? ""} ${readStringField(error, "additionalDetails") ?? ""}`,
  );
  if (words === "") return step(facts);
  // `codexErrorInfo` has one key, the name of the kind of error.
  const [kind] = toJsonObjects(Object.values(toJsonObject(error["codexErrorInfo"])));
  const lastStatus = readNumberField(kind ?? {}, "httpStatusCode");
  return step({ ...facts, lastStatus }, [{ kind: "retry", summary: words }]);
}

function readTool(facts: AcpTurnState, call: JsonObject): AcpUpdateResult {
  const id = readIdField(call, "toolCallId");
  if (id === null) return step(facts);
  const known = facts.tools.get(id);
  const kind = toolKind(call) ?? known?.kind ?? "tool";
  const words = firstLine(readStringField(call, "title") ?? "") || known?.summary || "a tool";
  const status = readStringField(call, "status");
  const hasEnded = status === "completed" || status === "failed" || known?.state === "ended";
  const tool: Tool = { kind, summary: words, state: hasEnded ? "ended" : "open" };
  facts.tools.set(id, tool);
  removeOldestEntries(facts.tools);
  if (known && known.summary === tool.summary && known.state === tool.state) return step(facts);
  // Ignores a title that comes after the end of a tool call: it does not open the tool call again.
  if (known?.state === "ended") return step(facts);
  const summary = hasEnded ? `${words}: ${status === "failed" ? "failed" : "done"}` : words;
  return step(facts, [{ kind, summary, tool: { id, state: tool.state } }]);
}

function toolKind(call: JsonObject): ActivityKind | null {
  const kind = readStringField(call, "kind");
  if (kind === null) return null;
  return kind === "execute" ? "command" : "tool";
}

function costOf(update: JsonObject): number | null {
  const cost = toJsonObject(update["cost"]);
  return cost["currency"] === "USD" ? readNumberField(cost, "amount") : null;
}

/** Reports the agent's current message, and then applies an update that ends the message. */
function afterMessage(facts: AcpTurnState, then: (facts: AcpTurnState) => AcpUpdateResult): AcpUpdateResult {
  const first = flushAgentMessage(facts);
  const second = then(first.facts);
  return step(second.facts, [...first.activities, ...second.activities]);
}

function step(facts: AcpTurnState, activities: readonly AgentActivity[] = []): AcpUpdateResult {
  return { facts, activities };
}
