/**
 * A line of the ledger, the file that records which task files were completed or failed. `sha256` is the
 * checksum of the task file's content.
 */
export interface TaskLedgerLine {
  readonly sha256: string;
  readonly file: string;
  readonly outcome: "completed" | "failed";
  readonly swarmId: string;
  readonly at: string;
}

/**
 * Returns the newest ledger line for each task file. The key is the SHA-256 checksum of the task file's
 * content.
 */
export function newestLedgerLineBySha256(lines: readonly TaskLedgerLine[]): Map<string, TaskLedgerLine> {
  return new Map(lines.map((line) => [line.sha256, line]));
}

/** Parses a line of the ledger. Returns undefined if the line is incomplete or malformed. */
export function parseTaskLedgerLine(text: string): TaskLedgerLine | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return isLedgerLine(line) ? line : undefined;
  } catch {
    return undefined;
  }
}

function isLedgerLine(value: unknown): value is TaskLedgerLine {
  if (typeof value !== "object" || value === null) return false;
  const { sha256, file, outcome, swarmId, at } = value as Record<string, unknown>;
  return (
    typeof sha256 === "string" &&
    typeof file === "string" &&
    (outcome === "completed" || outcome === "failed") &&
    typeof swarmId === "string" &&
    typeof at === "string"
  );
}
