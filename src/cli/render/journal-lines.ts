import type { CheckResult, StoryProgress } from "../../contract/acp.ts";
import type { JournalledMessage } from "../../protocol/rules/protocol-messages.ts";
import { formatBytes, formatDuration } from "../../text/duration-and-size.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";

const indent = " ".repeat("00:00:00  ".length);
const maxLength = 2_000;

/**
 * Renders a message from the host's journal of a worker, with its time in UTC. At each new attempt or day, a
 * heading comes first.
 */
export function renderJournalMessage(message: JournalledMessage, before: JournalledMessage | null): string[] {
  const [day = "", time = ""] = message.timestamp.split("T");
  const isNew = before?.attempt !== message.attempt || !before.timestamp.startsWith(day);
  const [first = "", ...more] = describe(message);
  return [
    ...(isNew ? [`attempt ${message.attempt}, ${sanitizeText(day)} UTC`] : []),
    `${sanitizeText(time).slice(0, 8)}  ${first}`,
    ...more.map((line) => indent + line),
  ];
}

/**
 * Returns the ID of the story to which a message refers; null if the message is about the worker as a whole.
 */
export function storyIdOfMessage(message: JournalledMessage): string | null {
  return "storyId" in message.payload ? message.payload.storyId : null;
}

function describe(message: JournalledMessage): string[] {
  switch (message.type) {
    case "progress-update":
      return progressOf(message.payload);
    case "activity": {
      const { storyId, kind, summary } = message.payload;
      return [`${sanitizeText(storyId)}  ${sanitizeText(kind)}: ${sanitizeText(summary)}`];
    }
    case "usage": {
      const { storyId, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd } =
        message.payload;
      const cost = costUsd === undefined ? "" : `, $${costUsd.toFixed(2)}`;
      const cached = cacheReadTokens > 0 ? ` (${cacheReadTokens} from the cache)` : "";
      const taken = inputTokens + cacheReadTokens + cacheWriteTokens;
      return [`${sanitizeText(storyId)}  tokens so far: ${taken} in${cached}, ${outputTokens} out${cost}`];
    }
    case "checkpoint": {
      const { storyId, commit, bundle, bytes } = message.payload;
      const stored = bundle === null ? "no new commits" : formatBytes(bytes);
      return [`${sanitizeText(storyId)}  stored up to commit ${commit.slice(0, 10)}, ${stored}`];
    }
    case "completion": {
      const { status, head, errors } = message.payload;
      const at = head === null ? "" : ` at commit ${head.slice(0, 10)}`;
      return [`worker ${sanitizeText(status)}${at}`, ...errors.flatMap(linesOf)];
    }
    case "error": {
      const [first = "", ...more] = linesOf(message.payload.message);
      return [`worker cannot continue, ${sanitizeText(message.payload.code)}: ${first}`, ...more];
    }
  }
}

function progressOf({
  storyId,
  status,
  output,
  commit,
  checks,
  reason,
  failedWork,
}: StoryProgress): string[] {
  const [first = "", ...more] = linesOf(reason?.message ?? output);
  const code = reason ? `, ${sanitizeText(reason.code)}` : "";
  const made =
    commit === undefined
      ? ""
      : commit === null
        ? ", nothing had to change"
        : `, commit ${commit.slice(0, 10)}`;
  const summary = first === "" ? "" : `: ${first}`;
  return [
    `${sanitizeText(storyId)}  ${sanitizeText(status).replace("_", " ")}${code}${made}${summary}`,
    ...more,
    ...(reason && output !== "" && output !== reason.message ? linesOf(output) : []),
    ...(checks ?? []).flatMap(checkLines),
    ...(failedWork ? [`the unfinished changes are kept as commit ${failedWork.commit.slice(0, 10)}`] : []),
  ];
}

function checkLines({ command, exitCode, durationMs, output }: CheckResult): string[] {
  const how = exitCode === null ? "ended by its time limit" : `exit ${exitCode}`;
  return [
    `check ${sanitizeText(command)}: ${how}, ${formatDuration(durationMs)}`,
    ...linesOf(output).map((line) => `| ${line}`),
  ];
}

/** Splits a text into lines. Returns no lines for an empty text. */
function linesOf(text: string): string[] {
  const lines = text.trimEnd().split("\n");
  return lines.length === 1 && lines[0] === "" ? [] : lines.map((line) => sanitizeText(line, maxLength));
}
