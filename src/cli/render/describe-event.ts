import { describeGatewayTransport } from "../../agents/agent-access-report.ts";
import type { DeniedRequest } from "../../contract/swarm-state.ts";
import { describeDeniedRequest } from "../../egress/describe-denied-request.ts";
import { formatDuration } from "../../text/duration-and-size.ts";
import { formatCount } from "../../text/format-count.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";

interface EventFacts {
  readonly event: string;
  readonly [fact: string]: unknown;
}

type Facts = Readonly<Record<string, unknown>>;

const maxLength = 1_000;

/**
 * Describes an event that the swarm's owner logged, with its reason. Omits malformed fields, because another
 * program may have changed the log file.
 */
export function describeEventFacts({ event, ...facts }: EventFacts): string {
  const say = wordsByEvent.get(event);
  const words = say ? say(facts) : [event, ...Object.entries(facts).flatMap(otherFact)].join(", ");
  return sanitizeText(words, maxLength);
}

const wordsByEvent: ReadonlyMap<string, (facts: Facts) => string> = new Map(
  Object.entries({
    begun: (facts) => {
      const parallel = numberOf(facts["parallel"]);
      const atOnce = parallel === null ? "" : `, at most ${parallel} in parallel`;
      return `swarm ${textOf(facts["swarmId"])} started with ${workersIn(facts["workers"])}${atOnce}`;
    },
    waiting: (facts) => `waits${because(facts)}`,
    started: () => "started",
    created: (facts) => `created${partOf(", container ", textOf(facts["containerId"]).slice(0, 12))}`,
    line: (facts) => `connection to the worker ${textOf(facts["status"])}${because(facts)}`,
    collected: (facts) =>
      `collected ${textOf(facts["commit"]).slice(0, 10)}${partOf(" at ", textOf(facts["ref"]))}`,
    refused: (facts) => `refused${partOf(" for ", textOf(facts["ref"]))}${reasonIn(facts)}`,
    published: (facts) => publishedWords(facts),
    sensitive: (facts) => `changed files that need review: ${listOf(facts["paths"], pathWords)}`,
    ended: (facts) => `${textOf(facts["status"])}${reasonIn(facts)}`,
    proved: (facts) =>
      `proof: ${textOf(facts["verdict"]).replace("-", " ")}${partOf(": ", textOf(facts["why"]))}${weakenedIn(facts)}`,
    skipped: (facts) => `skipped${reasonIn(facts)}`,
    restarted: (facts) => `starts again${waitIn(facts)}${because(facts)}`,
    retried: (facts) =>
      `is retried, attempt ${numberOf(facts["attempt"]) ?? "?"}${waitIn(facts)}${because(facts)}`,
    "given up": (facts) => `is not retried${because(facts)}`,
    paused: (facts) => `paused${because(facts)}`,
    unpaused: (facts) => `unpaused${because(facts)}`,
    stopping: (facts) => `stopping${because(facts)}`,
    wish: (facts) =>
      `command to ${textOf(facts["wish"])}${facts["reason"] ? `, refused${reasonIn(facts)}` : ""}`,
    appended: (facts) => `added to the running swarm${because(facts)}`,
    kept: () => "the worker's container was stopped; swarm keeps the container and its files",
    removing: (facts) => `the worker's container is being removed${because(facts)}`,
    removed: () => "the worker's container was removed",
    gateway: (facts) => gatewayWords(facts),
    called: (facts) =>
      `called ${textOf(facts["model"]) || textOf(facts["endpoint"])}: ${numberOf(facts["status"]) || "no answer"}${spentWords(facts)}`,
    reached: (facts) => `reached ${placeOf(facts)}${partOf("", textOf(facts["path"]))}`,
    denied: (facts) => describeDeniedRequest(deniedIn(facts)),
    limited: (facts) =>
      `the model endpoint ${textOf(facts["endpoint"])} accepts no calls until ${textOf(facts["until"])}`,
    budget: (facts) => budgetWords(facts),
    finished: (facts) => `swarm finished${partOf(": ", countsIn(facts))}`,
    lost: (facts) =>
      `${formatCount(numberOf(facts["events"]) ?? 0, "event")} could not be written to the event log`,
  } satisfies Record<string, (facts: Facts) => string>),
);

function weakenedIn(facts: Facts): string {
  const count = numberOf(facts["weakenedTests"]) ?? 0;
  return count === 0 ? "" : `; the result deletes or skips ${formatCount(count, "test")}`;
}

function publishedWords(facts: Facts): string {
  if (facts["kind"] === "refused")
    return `the work got no branch: ${listOf(facts["obstacles"], obstacleWords)}`;
  const aside = facts["aside"] ? `, not on ${obstacleWords(facts["aside"])}` : "";
  return `published ${textOf(facts["ref"]).replace("refs/heads/", "")}${partOf(", ", textOf(facts["how"]))}${aside}`;
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
  switch (facts["status"]) {
    case "ready":
      return `gateway ready: ${describeGatewayTransport(facts["road"] === "socket" ? "socket" : "network")}`;
    case "lost":
      return `gateway lost${because(facts)}; the owner reconnects to the gateway or replaces it`;
    default:
      return `gateway ${textOf(facts["status"])}`;
  }
}

function spentWords(facts: Facts): string {
  const [tokens, cost] = [numberOf(facts["tokens"]), numberOf(facts["costUsd"])];
  if (!tokens) return "";
  const most = facts["isEstimated"] === true ? "at most " : "";
  return `, ${most}${formatCount(tokens, "token")}${cost ? `, $${cost.toFixed(4)}` : ""}`;
}

function placeOf(facts: Facts): string {
  return `${textOf(facts["host"])}:${numberOf(facts["port"]) ?? "?"}`;
}

function deniedIn(facts: Facts): DeniedRequest {
  return { what: textOf(facts["what"]), why: textOf(facts["why"]), times: numberOf(facts["times"]) ?? 1 };
}

function budgetWords(facts: Facts): string {
  const [limit, share] = [numberOf(facts["limit"]) ?? 0, numberOf(facts["share"])];
  const amount = facts["of"] === "usd" ? `$${limit}` : formatCount(limit, "token");
  return share === 1 ? `budget of ${amount} used up` : `80 % of the budget of ${amount} is used`;
}

function workersIn(value: unknown): string {
  return Array.isArray(value)
    ? formatCount(value.length, "worker")
    : formatCount(numberOf(value) ?? 0, "worker");
}

/**
 * Lists the numbers in an event's fields, such as `3 completed, 1 failed`. Includes numbers in nested
 * objects, one level deep.
 */
function countsIn(facts: Facts): string {
  return Object.entries(facts)
    .flatMap(([name, value]): [string, unknown][] =>
      typeof value === "object" ? Object.entries(factsOf(value)) : [[name, value]],
    )
    .flatMap(([name, value]) => (numberOf(value) ? [`${numberOf(value)} ${name}`] : []))
    .join(", ");
}

function because(facts: Facts): string {
  return partOf(": ", textOf(facts["why"])) || reasonIn(facts);
}

function reasonIn(facts: Facts): string {
  const { code, message } = factsOf(facts["reason"]);
  return typeof code === "string" ? `, ${code}: ${textOf(message)}` : "";
}

function waitIn(facts: Facts): string {
  const waitMs = numberOf(facts["waitMs"]);
  return waitMs === null ? "" : ` in ${formatDuration(waitMs)}`;
}

function otherFact([name, value]: [string, unknown]): string[] {
  if (name === "swarmId") return [];
  return typeof value === "string" || typeof value === "number" ? [`${name} ${value}`] : [];
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
