import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { longestToHost } from "../domain/acp-messages.ts";
import type { ContainerStatus, Reason, StoryStatus } from "../domain/generated/swarm-state.ts";
import type { JournalSummary } from "../ports/journal.ts";
import { readLines } from "../wire/read-lines.ts";

/** Written by us, a message may take a little more room than the protocol gives it. */
const longestLine = 2 * longestToHost;

/** What the host's own journals of a worker say: the newest attempt, and where it stood. Null when there is none. */
export async function readHostJournal(folder: string): Promise<JournalSummary | null> {
  const attempts = (await readdir(folder).catch(() => []))
    .flatMap((name) => /^journal-(\d+)\.ndjson$/.exec(name)?.[1] ?? [])
    .map(Number)
    .filter((attempt) => Number.isSafeInteger(attempt) && attempt > 0)
    .sort((a, b) => b - a);
  const [attempt] = attempts;
  if (attempt === undefined) return null;

  let summary: JournalSummary = {
    attempt,
    lastSeq: 0,
    statusById: new Map(),
    completion: null,
    error: null,
    lastCheckpoint: null,
  };
  for await (const message of readLines(createReadStream(join(folder, `journal-${attempt}.ndjson`)), {
    longestLine,
  })) {
    summary = withMessage(summary, message);
  }
  return summary;
}

/** What comes from a sandbox is a claim: only what has the right form counts. */
function withMessage(summary: JournalSummary, message: unknown): JournalSummary {
  const { type, seq, payload } = fieldsOf(message);
  if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq <= summary.lastSeq) return summary;
  const { storyId, status, commit, code, message: text } = fieldsOf(payload);
  const next = { ...summary, lastSeq: seq, completion: null };
  switch (type) {
    case "progress-update":
      return typeof storyId === "string" && isStoryStatus(status)
        ? { ...next, statusById: new Map([...summary.statusById, [storyId, status]]) }
        : next;
    case "checkpoint":
      return typeof commit === "string" && /^[0-9a-f]{40}$/.test(commit)
        ? { ...next, lastCheckpoint: commit }
        : next;
    case "completion":
      return isCompletion(status) ? { ...next, completion: status } : next;
    case "error":
      return typeof code === "string" && /^[A-Z][A-Z0-9_]*$/.test(code) && typeof text === "string"
        ? { ...next, error: { code, message: text } satisfies Reason }
        : next;
    default:
      return next;
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isStoryStatus(value: unknown): value is StoryStatus {
  return (
    typeof value === "string" && ["pending", "in_progress", "completed", "failed", "skipped"].includes(value)
  );
}

function isCompletion(value: unknown): value is Extract<ContainerStatus, "completed" | "failed" | "stopped"> {
  return typeof value === "string" && ["completed", "failed", "stopped"].includes(value);
}
