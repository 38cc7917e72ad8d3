import type { ActivityKind } from "../../src/domain/generated/acp.ts";
import { keepNewest } from "../../src/domain/keep-newest.ts";
import type { AgentActivity, TurnUsage } from "./agent.ts";
import { countOf, fieldsOf, idOf, type JsonObject, listOf, numberOf, textOf } from "./fields.ts";
import { firstLine } from "./first-line.ts";

interface Tool {
  readonly kind: ActivityKind;
  readonly summary: string;
  readonly state: "open" | "ended";
}

/** The facts from a turn's updates so far. */
export interface AcpFacts {
  /** The tools by ID. Mutated in place, as a turn may have any number; holds only the newest. */
  readonly tools: Map<string, Tool>;
  /** The beginning of the current message, until its first line is reported; null after that. */
  readonly message: string | null;
  readonly messageId: string | null;
  /** The cost of the whole conversation, if the agent reports it. */
  readonly totalCostUsd: number | null;
  /** The failure of a turn, which Codex reports only in metadata: it ends a broken turn like any other. */
  readonly breakdown: Breakdown | null;
  /** The HTTP status of the last failed call of the model, for the breakdown that may follow. */
  readonly lastStatus: number | null;
}

export interface Breakdown {
  readonly status: number | null;
}

export interface AcpStep {
  readonly facts: AcpFacts;
  readonly activities: readonly AgentActivity[];
}

export const noAcpFacts = (): AcpFacts => ({
  tools: new Map(),
  message: "",
  messageId: null,
  totalCostUsd: null,
  breakdown: null,
  lastStatus: null,
});

/** Applies the `update` of a `session/update`. */
export function readAcpUpdate(facts: AcpFacts, update: JsonObject): AcpStep {
  const kind = update["sessionUpdate"];
  if (kind === "agent_message_chunk") return readChunk(facts, update);
  switch (kind) {
    case "tool_call":
    case "tool_call_update":
      return after(endMessage(facts), (ended) => readTool(ended, update));
    case "plan":
      return after(endMessage(facts), (ended) => ({
        facts: ended,
        activities: [{ kind: "plan", summary: describePlan(listOf(update["entries"])) }],
      }));
    case "session_info_update":
      return readAside(facts, fieldsOf(fieldsOf(update["_meta"])["codex"]));
    case "usage_update":
      return { facts: { ...facts, totalCostUsd: costOf(update) ?? facts.totalCostUsd }, activities: [] };
    default:
      return { facts, activities: [] };
  }
}

/** Applies the tool call of a permission request: not every agent reports a tool before it asks for permission. */
export function readAcpPermission(facts: AcpFacts, request: JsonObject): AcpStep {
  return after(endMessage(facts), (ended) => readTool(ended, fieldsOf(request["toolCall"])));
}

/** Reports the rest of a message at its end, or at the end of the turn. */
export function endMessage(facts: AcpFacts): AcpStep {
  const summary = firstLine(facts.message ?? "");
  return {
    facts: { ...facts, message: "" },
    activities: summary === "" ? [] : [{ kind: "text", summary }],
  };
}

/** The ends of the tools that the agent has left open: they ended with its turn. */
export function endTools({ tools }: AcpFacts): AgentActivity[] {
  return [...tools].flatMap(([id, { kind, summary, state }]) =>
    state === "open" ? [{ kind, summary, tool: { id, state: "ended" } } satisfies AgentActivity] : [],
  );
}

/**
 * The usage of a turn, from the answer to its prompt; null when the agent reports none. Agents report the cost of the whole
 * conversation, so `earlierCostUsd` is subtracted.
 */
export function usageOfTurn(
  answer: JsonObject,
  { totalCostUsd }: AcpFacts,
  earlierCostUsd: number | null,
): TurnUsage | null {
  const isKnown = totalCostUsd !== null && earlierCostUsd !== null;
  const cost = isKnown ? { costUsd: Math.max(0, totalCostUsd - earlierCostUsd) } : {};
  const usage = fieldsOf(answer["usage"]);
  if (Object.keys(usage).length > 0)
    return {
      inputTokens: countOf(usage, "inputTokens"),
      // Providers bill thoughts as output.
      outputTokens: countOf(usage, "outputTokens") + countOf(usage, "thoughtTokens"),
      cacheReadTokens: countOf(usage, "cachedReadTokens"),
      cacheWriteTokens: countOf(usage, "cachedWriteTokens"),
      ...cost,
    };

  // Gemini reports its usage here; the protocol's own field is newer.
  const quota = fieldsOf(fieldsOf(fieldsOf(answer["_meta"])["quota"])["token_count"]);
  const inputTokens = countOf(quota, "input_tokens");
  const outputTokens = countOf(quota, "output_tokens");
  if (!isKnown && inputTokens + outputTokens === 0) return null;
  return { inputTokens, outputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, ...cost };
}

function readChunk(facts: AcpFacts, update: JsonObject): AcpStep {
  const messageId = idOf(update, "messageId");
  if (messageId !== facts.messageId)
    return after(endMessage(facts), (ended) => readChunk({ ...ended, messageId }, update));
  if (facts.message === null) return { facts, activities: [] };
  const message = facts.message + (textOf(fieldsOf(update["content"]), "text") ?? "");
  const isReportedNow = message.length > 300 || message.trimStart().includes("\n");
  if (!isReportedNow) return { facts: { ...facts, message }, activities: [] };
  return { facts: { ...facts, message: null }, activities: [{ kind: "text", summary: firstLine(message) }] };
}

function readAside(facts: AcpFacts, codex: JsonObject): AcpStep {
  const thread = textOf(fieldsOf(codex["threadStatus"]), "type");
  if (thread === "systemError")
    return { facts: { ...facts, breakdown: { status: facts.lastStatus } }, activities: [] };
  if (thread === "active") return { facts: { ...facts, breakdown: null }, activities: [] };
  const error = fieldsOf(codex["error"]);
  const words = firstLine(`${textOf(error, "message") ?? ""} ${textOf(error, "additionalDetails") ?? ""}`);
  if (words === "") return { facts, activities: [] };
  // The only key is the name of the kind of error.
  const [kind] = listOf(Object.values(fieldsOf(error["codexErrorInfo"])));
  const lastStatus = numberOf(kind ?? {}, "httpStatusCode");
  return { facts: { ...facts, lastStatus }, activities: [{ kind: "retry", summary: words }] };
}

function readTool(facts: AcpFacts, call: JsonObject): AcpStep {
  const id = idOf(call, "toolCallId");
  if (id === null) return { facts, activities: [] };
  const known = facts.tools.get(id);
  const kind = toolKind(call) ?? known?.kind ?? "tool";
  const words = firstLine(textOf(call, "title") ?? "") || known?.summary || "a tool";
  const status = textOf(call, "status");
  const hasEnded = status === "completed" || status === "failed" || known?.state === "ended";
  const tool: Tool = { kind, summary: words, state: hasEnded ? "ended" : "open" };
  facts.tools.set(id, tool);
  keepNewest(facts.tools);
  const step = (activities: readonly AgentActivity[]): AcpStep => ({ facts, activities });

  if (known && known.summary === tool.summary && known.state === tool.state) return step([]);
  // A title may come after the end; it does not open the call again.
  if (known?.state === "ended") return step([]);
  const summary = hasEnded ? `${words}: ${status === "failed" ? "failed" : "done"}` : words;
  return step([{ kind, summary, tool: { id, state: tool.state } }]);
}

function toolKind(call: JsonObject): ActivityKind | null {
  const kind = textOf(call, "kind");
  if (kind === null) return null;
  return kind === "execute" ? "command" : "tool";
}

function describePlan(entries: readonly JsonObject[]): string {
  const done = entries.filter((entry) => entry["status"] === "completed").length;
  const now = textOf(fieldsOf(entries.find((entry) => entry["status"] === "in_progress")), "content");
  return firstLine(`Plan: ${done} of ${entries.length} done${now === null ? "" : `, ${now}`}`);
}

function costOf(update: JsonObject): number | null {
  const cost = fieldsOf(update["cost"]);
  return cost["currency"] === "USD" ? numberOf(cost, "amount") : null;
}

function after(first: AcpStep, then: (facts: AcpFacts) => AcpStep): AcpStep {
  const second = then(first.facts);
  return { facts: second.facts, activities: [...first.activities, ...second.activities] };
}
