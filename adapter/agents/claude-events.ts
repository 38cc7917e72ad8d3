import { keepNewest } from "../../src/domain/keep-newest.ts";
import type { AgentActivity, TurnUsage } from "./agent.ts";
import { describeTool, type ToolWords } from "./claude-words.ts";
import { countOf, fieldsOf, idOf, type JsonObject, listOf, numberOf, textOf } from "./fields.ts";
import { firstLine } from "./first-line.ts";

/** The final result that Claude Code reports. Omits the field `subtype`, which is "success" even after API errors. */
export interface ClaudeResult {
  readonly isError: boolean;
  /**
   * The reason for the end, such as `completed`, `max_turns` or `api_error`; null in versions of Claude Code that do
   * not report it.
   */
  readonly terminalReason: string | null;
  readonly stopReason: string | null;
  readonly deniedTools: readonly string[];
  readonly words: string;
}

/**
 * A call of the model's API that failed after all retries. `kind`: Claude Code's name for the error. `status`: the
 * HTTP status, if there was one.
 */
export interface ApiError {
  readonly kind: string;
  readonly status: number | null;
}

/** The facts from all events of one run of Claude Code so far. */
export interface ClaudeFacts {
  readonly hasBegun: boolean;
  /** Whether the run of Claude Code continues an earlier conversation. */
  readonly isResumed: boolean;
  readonly folder: string;
  /** The open tool calls by ID. Mutated in place, since a turn may have very many tool calls; holds only the newest. */
  readonly openTools: Map<string, ToolWords>;
  /** The number of background programs that Claude Code waits for. */
  readonly backgroundTasks: number;
  /** How many times in a row the model's API has refused the API key (401). */
  readonly refusedKeys: number;
  readonly modelRefused: boolean;
  readonly apiError: ApiError | null;
  /** The last result; null while Claude Code works, since later work makes an earlier result invalid. */
  readonly result: ClaudeResult | null;
  /** `settled`: the usage up to the last result. `since`: the usage of the model calls after it. */
  readonly settled: TurnUsage;
  readonly since: TurnUsage;
  /** The IDs of the messages whose usage `since` includes. Mutated in place, since a turn may have very many messages. */
  readonly counted: Set<string>;
}

/** The effect of an event: the new facts, the activities to report, and the total usage of the run if the event changed it. */
export interface ClaudeStep {
  readonly facts: ClaudeFacts;
  readonly activities: readonly AgentActivity[];
  readonly usage: TurnUsage | null;
}

const nothing: TurnUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

export function claudeFacts({ isResumed }: { readonly isResumed: boolean }): ClaudeFacts {
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
    settled: nothing,
    since: nothing,
    counted: new Set(),
  };
}

/** Applies one event of Claude Code's `--output-format stream-json` to the facts. */
export function readClaudeEvent(facts: ClaudeFacts, event: JsonObject): ClaudeStep {
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

function readSystem(facts: ClaudeFacts, event: JsonObject): ClaudeStep {
  switch (event["subtype"]) {
    case "init":
      return step({ ...facts, hasBegun: true, folder: textOf(event, "cwd") ?? "" });
    case "api_retry":
      return readRetry(facts, event);
    case "model_refusal_no_fallback":
      return step({ ...facts, modelRefused: true });
    case "background_tasks_changed":
      return step({ ...facts, backgroundTasks: listOf(event["tasks"]).length });
    default:
      return step(facts);
  }
}

function readRetry(facts: ClaudeFacts, event: JsonObject): ClaudeStep {
  const status = numberOf(event, "error_status");
  const seconds = Math.ceil(countOf(event, "retry_delay_ms") / 1000);
  const attempt = `attempt ${countOf(event, "attempt")} of ${countOf(event, "max_retries")}`;
  const summary = `The model's API ${status === null ? "did not answer" : `answered ${status}`}; trying again in ${seconds} s (${attempt})`;
  return step({ ...facts, result: null, refusedKeys: status === 401 ? facts.refusedKeys + 1 : 0 }, [
    { kind: "retry", summary },
  ]);
}

function readAssistant(facts: ClaudeFacts, event: JsonObject): ClaudeStep {
  const message = fieldsOf(event["message"]);
  const blocks = listOf(message["content"]);
  if (event["is_api_error_message"] === true || message["model"] === "<synthetic>") {
    const words = firstLine(blocks.map((block) => textOf(block, "text") ?? "").join("\n"));
    const kind = textOf(event, "error") ?? "unknown";
    const apiError = { kind, status: numberOf(event, "api_error_status") };
    return step({ ...facts, apiError }, words === "" ? [] : [{ kind: "text", summary: words }]);
  }

  const { openTools, counted } = facts;
  const activities: AgentActivity[] = [];
  for (const block of blocks) {
    const text = block["type"] === "text" ? firstLine(textOf(block, "text") ?? "") : "";
    if (text !== "") activities.push({ kind: "text", summary: text });
    const id = block["type"] === "tool_use" ? idOf(block, "id") : null;
    if (id === null) continue;
    const words = describeTool(textOf(block, "name") ?? "a tool", fieldsOf(block["input"]), facts.folder);
    openTools.set(id, words);
    keepNewest(openTools);
    activities.push({ ...words, tool: { id, state: "open" } });
  }

  const messageId = idOf(message, "id");
  // Counts the usage of each message once: each block of a message comes in a separate event, which repeats the usage of
  // the whole message.
  const isNew = messageId !== null && !counted.has(messageId);
  const known = { ...facts, refusedKeys: 0, apiError: null };
  if (!isNew) return step(known, activities);
  keepNewest(counted.add(messageId));
  const since = addUsage(facts.since, usageOf(fieldsOf(message["usage"])));
  return step({ ...known, since }, activities, { reportUsage: true });
}

function readToolResults(facts: ClaudeFacts, event: JsonObject): ClaudeStep {
  const { openTools } = facts;
  const activities: AgentActivity[] = [];
  for (const block of listOf(fieldsOf(event["message"])["content"])) {
    const id = block["type"] === "tool_result" ? textOf(block, "tool_use_id") : null;
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

function readResult(facts: ClaudeFacts, event: JsonObject): ClaudeStep {
  const errors = Array.isArray(event["errors"]) ? event["errors"] : [];
  const result: ClaudeResult = {
    // Only an explicit `false` in `is_error` counts as success.
    isError: event["is_error"] !== false,
    terminalReason: textOf(event, "terminal_reason"),
    stopReason: textOf(event, "stop_reason"),
    deniedTools: listOf(event["permission_denials"]).map((denial) => textOf(denial, "tool_name") ?? "a tool"),
    words: firstLine(textOf(event, "result") ?? errors.filter((part) => typeof part === "string").join("\n")),
  };
  const settled = addUsage(facts.settled, resultUsage(facts, event));
  // Reports an end for each open tool call: these tool calls ended with the turn.
  const activities = [...facts.openTools].map(
    ([id, { kind, summary }]): AgentActivity => ({ kind, summary, tool: { id, state: "ended" } }),
  );
  facts.openTools.clear();
  facts.counted.clear();
  return step({ ...facts, result, settled, since: nothing }, activities, { reportUsage: true });
}

/**
 * Returns the usage that a result adds. A result's totals cover all runs of the conversation; only
 * `model_usage_since_last_result` is limited to this run, and it includes sub-agents and small models.
 */
function resultUsage(facts: ClaudeFacts, event: JsonObject): TurnUsage {
  const models = listOf(Object.values(fieldsOf(event["model_usage_since_last_result"])));
  if (models.length > 0) return models.map(modelUsage).reduce(addUsage);
  const usage = usageOf(fieldsOf(event["usage"]));
  const total = numberOf(event, "total_cost_usd");
  // Without `model_usage_since_last_result`, the total is this run's cost only if the conversation began with this run.
  const isFirst = !facts.isResumed && facts.settled.costUsd === undefined;
  return total !== null && isFirst ? { ...usage, costUsd: total } : usage;
}

function modelUsage(model: JsonObject): TurnUsage {
  const costUsd = numberOf(model, "costUSD");
  return {
    inputTokens: countOf(model, "inputTokens"),
    outputTokens: countOf(model, "outputTokens"),
    cacheReadTokens: countOf(model, "cacheReadInputTokens"),
    cacheWriteTokens: countOf(model, "cacheCreationInputTokens"),
    ...(costUsd === null ? {} : { costUsd }),
  };
}

function usageOf(usage: JsonObject): TurnUsage {
  return {
    inputTokens: countOf(usage, "input_tokens"),
    outputTokens: countOf(usage, "output_tokens"),
    cacheReadTokens: countOf(usage, "cache_read_input_tokens"),
    cacheWriteTokens: countOf(usage, "cache_creation_input_tokens"),
  };
}

function addUsage(one: TurnUsage, other: TurnUsage): TurnUsage {
  const costs = [one.costUsd, other.costUsd].filter((cost) => cost !== undefined);
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    ...(costs.length > 0 ? { costUsd: costs.reduce((sum, cost) => sum + cost, 0) } : {}),
  };
}

function step(
  facts: ClaudeFacts,
  activities: readonly AgentActivity[] = [],
  { reportUsage }: { readonly reportUsage: boolean } = { reportUsage: false },
): ClaudeStep {
  const usage = reportUsage ? addUsage(facts.settled, facts.since) : null;
  return { facts, activities, usage };
}
