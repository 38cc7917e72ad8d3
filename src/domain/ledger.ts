/** A line of the ledger: a task file, identified by its content, that a swarm ran once. */
export interface LedgerLine {
  readonly sha256: string;
  readonly file: string;
  readonly outcome: "completed" | "failed";
  readonly swarmId: string;
  readonly at: string;
}

/** The newest line for each content. */
export function newestBySha(lines: readonly LedgerLine[]): Map<string, LedgerLine> {
  return new Map(lines.map((line) => [line.sha256, line]));
}

/** Parses a line; undefined for a torn or foreign one. */
export function parseLedgerLine(text: string): LedgerLine | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return isLedgerLine(line) ? line : undefined;
  } catch {
    return undefined;
  }
}

function isLedgerLine(value: unknown): value is LedgerLine {
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
