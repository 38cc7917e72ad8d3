import { describeGatewayTransport } from "../../agents/agent-access-report.ts";
import { describeDeniedRequest } from "../../egress/describe-denied-request.ts";
import { formatDuration } from "../../text/duration-and-size.ts";
import { formatCount } from "../../text/format-count.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";

type Facts = Readonly<Record<string, unknown>>;

const maxLength = 1_000;

/**
 * Describes an event that the swarm's owner logged, with its reason. Omits malformed fields, because another
 * program may have changed the log file.
 */
export function describeEventFacts({ event, ...facts }: Facts & { readonly event: string }): string {
  const say = wordsByEvent.get(event);
  const words = say ? say(facts) : [event, ...Object.entries(facts).flatMap(otherFact)].join(", ");
  return sanitizeText(words, maxLength);
}

const wordsByEvent: ReadonlyMap<string, (facts: Facts) => string> = new Map(
  Object.entries({
    begun({ swarmId, workers, parallel }) {
      const atOnce = numberOf(parallel);
      const limit = atOnce === null ? "" : `, at most ${atOnce} in parallel`;
      return `swarm ${textOf(swarmId)} started with ${workersIn(workers)}${limit}`;
    },
    waiting: withReason("waits"),
    started: () => "started",
    created: ({ containerId }) => `created${partOf(", container ", textOf(containerId).slice(0, 12))}`,
    line: (facts) => `connection to the worker ${textOf(facts["status"])}${because(facts)}`,
    collected: ({ commit, ref }) => `collected ${textOf(commit).slice(0, 10)}${partOf(" at ", textOf(ref))}`,
    refused: (facts) => `refused${partOf(" for ", textOf(facts["ref"]))}${reasonIn(facts)}`,
    published: publishedWords,
    sensitive: ({ paths }) => `changed files that need review: ${listOf(paths, pathWords)}`,
    ended: (facts) => `${textOf(facts["status"])}${reasonIn(facts)}`,
    proved: ({ verdict, why, weakenedTests }) =>
      `proof: ${textOf(verdict).replace("-", " ")}${partOf(": ", textOf(why))}${weakenedIn(weakenedTests)}`,
    skipped: (facts) => `skipped${reasonIn(facts)}`,
    restarted: (facts) => `starts again${waitIn(facts)}${because(facts)}`,
    retried: (facts) =>
      `is retried, attempt ${numberOf(facts["attempt"]) ?? "?"}${waitIn(facts)}${because(facts)}`,
    "given up": withReason("is not retried"),
    paused: withReason("paused"),
    unpaused: withReason("unpaused"),
    stopping: withReason("stopping"),
    wish: ({ wish, reason }) =>
      `command to ${textOf(wish)}${reason ? `, refused${reasonIn({ reason })}` : ""}`,
    appended: withReason("added to the running swarm"),
    kept: () => "the worker's container was stopped; swarm keeps the container and its files",
    removing: withReason("the worker's container is being removed"),
    removed: () => "the worker's container was removed",
    gateway: gatewayWords,
    called: ({ model, endpoint, status, ...spent }) =>
      `called ${textOf(model) || textOf(endpoint)}: ${numberOf(status) || "no answer"}${spentWords(spent)}`,
    reached: ({ host, port, path }) => `reached ${textOf(host)}:${numberOf(port) ?? "?"}${textOf(path)}`,
    denied: ({ what, why, times }) =>
      describeDeniedRequest({ what: textOf(what), why: textOf(why), times: numberOf(times) ?? 1 }),
    limited: ({ endpoint, until }) =>
      `the model endpoint ${textOf(endpoint)} accepts no calls until ${textOf(until)}`,
    budget: budgetWords,
    finished: (facts) => `swarm finished${partOf(": ", countsIn(facts))}`,
    lost: ({ events }) =>
      `${formatCount(numberOf(events) ?? 0, "event")} could not be written to the event log`,
  } satisfies Record<string, (facts: Facts) => string>),
);

/** Returns a function that describes an event with the given words and the event's reason. */
function withReason(words: string): (facts: Facts) => string {
  return (facts) => words + because(facts);
}

function weakenedIn(weakenedTests: unknown): string {
  const count = numberOf(weakenedTests) ?? 0;
  return count === 0 ? "" : `; the result deletes or skips ${formatCount(count, "test")}`;
}

function publishedWords({ kind, obstacles, aside, ref, how }: Facts): string {
  if (kind === "refused") return `the work got no branch: ${listOf(obstacles, obstacleWords)}`;
  const other = aside ? `, not on ${obstacleWords(aside)}` : "";
  return `published ${textOf(ref).replace("refs/heads/", "")}${partOf(", ", textOf(how))}${other}`;
}

function obstacleWords(value: unknown): string {
  const { branch, reason } = factsOf(value);
  return `${textOf(branch)}: ${textOf(reason)}`;
}

function pathWords(value: unknown): string {
  const { path, why } = factsOf(value);
  return `${textOf(path)} (${textOf(why).replaceAll("-", " ")})`;
}

function gatewayWords(facts: Facts): string {
  const { status, road } = facts;
  switch (status) {
    case "ready":
      return `gateway ready: ${describeGatewayTransport(road === "socket" ? road : "network")}`;
    case "lost":
      return `gateway lost${because(facts)}; the owner reconnects to the gateway or replaces it`;
    default:
      return `gateway ${textOf(status)}`;
  }
}

function spentWords(facts: Facts): string {
  const [tokens, cost] = [numberOf(facts["tokens"]), numberOf(facts["costUsd"])];
  if (!tokens) return "";
  const most = facts["isEstimated"] === true ? "at most " : "";
  return `, ${most}${formatCount(tokens, "token")}${cost ? `, $${cost.toFixed(4)}` : ""}`;
}

function budgetWords({ limit, share, of }: Facts): string {
  const most = numberOf(limit) ?? 0;
  const amount = of === "usd" ? `$${most}` : formatCount(most, "token");
  return share === 1 ? `budget of ${amount} used up` : `80 % of the budget of ${amount} is used`;
}

function workersIn(value: unknown): string {
  return formatCount(Array.isArray(value) ? value.length : (numberOf(value) ?? 0), "worker");
}

/**
 * Lists the numbers in an event's fields, such as `3 completed, 1 failed`. Includes numbers in nested
 * objects, one level deep.
 */
function countsIn(facts: Facts): string {
  return Object.entries(facts)
    .flatMap(([name, value]) =>
      typeof value === "object" ? Object.entries(factsOf(value)) : [[name, value]],
    )
    .flatMap(([name, value]) => (numberOf(value) ? `${value} ${name}` : []))
    .join(", ");
}

function because(facts: Facts): string {
  return partOf(": ", textOf(facts["why"])) || reasonIn(facts);
}

function reasonIn({ reason }: Facts): string {
  const { code, message } = factsOf(reason);
  return typeof code === "string" ? `, ${code}: ${textOf(message)}` : "";
}

function waitIn(facts: Facts): string {
  const waitMs = numberOf(facts["waitMs"]);
  return waitMs === null ? "" : ` in ${formatDuration(waitMs)}`;
}

function otherFact([name, value]: [string, unknown]): string[] {
  const isShown = name !== "swarmId" && (typeof value === "string" || typeof value === "number");
  return isShown ? [`${name} ${value}`] : [];
}

function listOf(value: unknown, words: (item: unknown) => string): string {
  return Array.isArray(value) ? value.map(words).join("; ") : "";
}

function partOf(before: string, text: string): string {
  return text === "" ? "" : `${before}${text}`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function factsOf(value: unknown): Facts {
  return typeof value === "object" && value !== null ? (value as Facts) : {};
}
