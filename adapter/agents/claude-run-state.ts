import { removeOldestEntries } from "../../src/text/remove-oldest.ts";
import type { AgentActivity, TurnUsage } from "./agent.ts";
import { describeToolCall, firstLine, type ToolCallDescription } from "./describe-tool-call.ts";
import {
  type JsonObject,
  readCountField,
  readIdField,
  readNumberField,
  readStringField,
  toJsonObject,
  toJsonObjects,
} from "./read-json-fields.ts";
import { addUsage, noUsage } from "./turn-usage.ts";

/**
 * The final result event of Claude Code, without its field `subtype`, which is "success" even after API
 * errors.
 */
export interface ClaudeResult {
  readonly isError: boolean;
  /**
   * Why Claude Code ended, such as `completed`, `max_turns` or `api_error`. Null if its version does not
   * report a reason.
   */
  readonly terminalReason: string | null;
  readonly stopReason: string | null;
  readonly deniedTools: readonly string[];
  readonly text: string;
}

/**
 * A call of the model's API that failed even after all retries. `kind` is Claude Code's name for the error;
 * `status` is the HTTP status, or null if there was none.
 */
export interface ModelApiError {
  readonly kind: string;
  readonly status: number | null;
}

/** What the adapter has learned from the events of one Claude Code process so far. */
export interface ClaudeRunState {
  readonly hasBegun: boolean;
  /** Whether this Claude Code process continues an earlier conversation. */
  readonly isResumed: boolean;
  readonly folder: string;
  /**
   * The newest open tool calls by ID. The adapter changes this map in place, because copying it for each
   * event would be slow.
   */
  readonly openTools: Map<string, ToolCallDescription>;
  /** The number of programs that Claude Code has started in the background and still waits for. */
  readonly backgroundTasks: number;
  /** How many consecutive times the model's API has refused the API key (HTTP 401). */
  readonly refusedKeys: number;
  readonly modelRefused: boolean;
  readonly apiError: ModelApiError | null;
  /**
   * The last result that Claude Code reported. Null if there is none, or if Claude Code has worked since
   * then, because the result is then outdated.
   */
  readonly result: ClaudeResult | null;
  readonly usage: {
    /** The usage up to the last reported result. `sinceResult` holds the usage of later model calls. */
    readonly upToResult: TurnUsage;
    readonly sinceResult: TurnUsage;
    /**
     * The IDs of the messages whose usage `sinceResult` includes. The adapter changes this set in place,
     * because copying it for each event would be slow.
     */
    readonly countedMessageIds: Set<string>;
  };
}

/**
 * The effect of one event of Claude Code: the new state, the activities to report, and the process's total
 * usage. `usage` is null if the event did not change it.
 */
export interface ClaudeEventResult {
  readonly facts: ClaudeRunState;
  readonly activities: readonly AgentActivity[];
  readonly usage: TurnUsage | null;
}

export function createClaudeRunState({ isResumed }: { readonly isResumed: boolean }): ClaudeRunState {
  return {
    hasBegun: false,
    isResumed,
    folder: "",
    openTools: new Map(),
    backgroundTasks: 0,
    refusedKeys: 0,
    modelRefused: false,
    apiError: null,
    result: null,
    usage: { upToResult: noUsage, sinceResult: noUsage, countedMessageIds: new Set() },
  };
}

/** Applies one event of Claude Code's `--output-format stream-json` to the process's state. */
export function applyClaudeEvent(facts: ClaudeRunState, event: JsonObject): ClaudeEventResult {
  switch (event["type"]) {
    case "system":
      return readSystem(facts, event);
    case "assistant":
      return readAssistant({ ...facts, result: null }, event);
    case "user":
      return readToolResults(facts, event);
    case "result":
      return readResult(facts, event);
    default:
      return step(facts);
  }
}

function readSystem(facts: ClaudeRunState, event: JsonObject): ClaudeEventResult {
  switch (event["subtype"]) {
    case "init":
      return step({ ...facts, hasBegun: true, folder: readStringField(event, "cwd") ?? "" });
    case "api_retry":
      return readRetry(facts, event);
    case "model_refusal_no_fallback":
      return step({ ...facts, modelRefused: true });
    case "background_tasks_changed":
      return step({ ...facts, backgroundTasks: toJsonObjects(event["tasks"]).length });
    default:
      return step(facts);
  }
}

function readRetry(facts: ClaudeRunState, event: JsonObject): ClaudeEventResult {
  const status = readNumberField(event, "error_status");
  const seconds = Math.ceil(readCountField(event, "retry_delay_ms") / 1000);
  const attempt = `attempt ${readCountField(event, "attempt")} of ${readCountField(event, "max_retries")}`;
  const summary = `The model's API ${status === null ? "did not answer" : `answered ${status}`}; trying again in ${seconds} s (${attempt})`;
  return step({ ...facts, result: null, refusedKeys: status === 401 ? facts.refusedKeys + 1 : 0 }, [
    { kind: "retry", summary },
  ]);
}

function readAssistant(facts: ClaudeRunState, event: JsonObject): ClaudeEventResult {
  const message = toJsonObject(event["message"]);
  const blocks = toJsonObjects(message["content"]);
  if (event["is_api_error_message"] === true || message["model"] === "<synthetic>") {
    const words = firstLine(blocks.map((block) => readStringField(block, "text") ?? "").join("\n"));
    const kind = readStringField(event, "error") ?? "unknown";
    const apiError = { kind, status: readNumberField(event, "api_error_status") };
    return step({ ...facts, apiError }, words === "" ? [] : [{ kind: "text", summary: words }]);
  }

  const { openTools, usage } = facts;
  const activities: AgentActivity[] = [];
  for (const block of blocks) {
    const text = block["type"] === "text" ? firstLine(readStringField(block, "text") ?? "") : "";
    if (text !== "") activities.push({ kind: "text", summary: text });
    const id = block["type"] === "tool_use" ? readIdField(block, "id") : null;
    if (id === null) continue;
    const words = describeToolCall(
      readStringField(block, "name") ?? "a tool",
      toJsonObject(block["input"]),
      facts.folder,
    );
    openTools.set(id, words);
    removeOldestEntries(openTools);
    activities.push({ ...words, tool: { id, state: "open" } });
  }

  const messageId = readIdField(message, "id");
  // Counts the usage of each message once: each block of a message comes in a separate event, which repeats the usage of
  // the whole message.
  const isNew = messageId !== null && !usage.countedMessageIds.has(messageId);
  const known = { ...facts, refusedKeys: 0, apiError: null };
  if (!isNew) return step(known, activities);
  removeOldestEntries(usage.countedMessageIds.add(messageId));
  const sinceResult = addUsage(usage.sinceResult, usageOf(toJsonObject(message["usage"])));
  return step({ ...known, usage: { ...usage, sinceResult } }, activities, { reportUsage: true });
}

function readToolResults(facts: ClaudeRunState, event: JsonObject): ClaudeEventResult {
  const { openTools } = facts;
  const activities: AgentActivity[] = [];
  for (const block of toJsonObjects(toJsonObject(event["message"])["content"])) {
    const id = block["type"] === "tool_result" ? readStringField(block, "tool_use_id") : null;
    const words = id === null ? undefined : openTools.get(id);
    if (id === null || !words) continue;
    openTools.delete(id);
    const how = block["is_error"] === true ? "failed" : "done";
    activities.push({
      kind: words.kind,
      summary: `${words.summary}: ${how}`,
      tool: { id, state: "ended" },
    });
  }
  return step(facts, activities);
}

function readResult(facts: ClaudeRunState, event: JsonObject): ClaudeEventResult {
  const errors = Array.isArray(event["errors"]) ? event["errors"] : [];
  const result: ClaudeResult = {
    // Only an explicit `false` in `is_error` counts as success.
    isError: event["is_error"] !== false,
    terminalReason: readStringField(event, "terminal_reason"),
    stopReason: readStringField(event, "stop_reason"),
    deniedTools: toJsonObjects(event["permission_denials"]).map(
      (denial) => readStringField(denial, "tool_name") ?? "a tool",
    ),
    text: firstLine(
      readStringField(event, "result") ?? errors.filter((part) => typeof part === "string").join("\n"),
    ),
  };
  const upToResult = addUsage(facts.usage.upToResult, resultUsage(facts, event));
  // Reports an end for each open tool call: these tool calls ended with the turn.
  const activities = [...facts.openTools].map(
    ([id, { kind, summary }]): AgentActivity => ({ kind, summary, tool: { id, state: "ended" } }),
  );
  facts.openTools.clear();
  facts.usage.countedMessageIds.clear();
  const usage = { ...facts.usage, upToResult, sinceResult: noUsage };
  return step({ ...facts, result, usage }, activities, { reportUsage: true });
}

/**
 * Returns the usage since the previous result. Uses the event's `model_usage_since_last_result` if it exists,
 * because the event's total cost also covers earlier processes of the conversation.
 */
function resultUsage(facts: ClaudeRunState, event: JsonObject): TurnUsage {
  const models = toJsonObjects(Object.values(toJsonObject(event["model_usage_since_last_result"])));
  if (models.length > 0) return models.map(modelUsage).reduce(addUsage);
  const usage = usageOf(toJsonObject(event["usage"]));
  const total = readNumberField(event, "total_cost_usd");
  // Without `model_usage_since_last_result`, the total is this run's cost only if the conversation began with this run.
  const isFirst = !facts.isResumed && facts.usage.upToResult.costUsd === undefined;
  return total !== null && isFirst ? { ...usage, costUsd: total } : usage;
}

function modelUsage(model: JsonObject): TurnUsage {
  const costUsd = readNumberField(model, "costUSD");
  return {
    inputTokens: readCountField(model, "inputTokens"),
    outputTokens: readCountField(model, "outputTokens"),
    cacheReadTokens: readCountField(model, "cacheReadInputTokens"),
    cacheWriteTokens: readCountField(model, "cacheCreationInputTokens"),
    ...(costUsd !== null && { costUsd }),
  };
}

function usageOf(usage: JsonObject): TurnUsage {
  return {
    inputTokens: readCountField(usage, "input_tokens"),
    outputTokens: readCountField(usage, "output_tokens"),
    cacheReadTokens: readCountField(usage, "cache_read_input_tokens"),
    cacheWriteTokens: readCountField(usage, "cache_creation_input_tokens"),
  };
}

function step(
  facts: ClaudeRunState,
  activities: readonly AgentActivity[] = [],
  { reportUsage }: { readonly reportUsage: boolean } = { reportUsage: false },
): ClaudeEventResult {
  const usage = reportUsage ? addUsage(facts.usage.upToResult, facts.usage.sinceResult) : null;
  return { facts, activities, usage };
}
