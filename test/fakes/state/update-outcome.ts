import { readFileSync } from "node:fs";
import { join } from "node:path";
import { worker } from "./records.ts";
import { stateAt } from "./state-at.ts";

/** What came of updates by `update-process`. */
export interface UpdateOutcome {
  readonly acknowledged: number;
  /** Numbers that were acknowledged twice (the first was lost and counted again) or that the state does not reach. */
  readonly lost: number;
  readonly refused: readonly string[];
}

/** Reads the state without any lock, as it lies there after everything has ended. */
export async function updateOutcome(folder: string): Promise<UpdateOutcome> {
  const acknowledged = linesOf(folder, "acknowledged").map(
    (line) => line.split(" ").map(Number) as [slot: number, reached: number],
  );
  const { containers } = await stateAt(folder).store.read();
  const seqByName = new Map(containers.map(({ containerName, lastSeq }) => [containerName, lastSeq]));
  const distinct = new Set(acknowledged.map((pair) => pair.join(" ")));
  const beyond = acknowledged.filter(
    ([slot, reached]) => reached > (seqByName.get(worker(slot).containerName) ?? 0),
  );
  return {
    acknowledged: acknowledged.length,
    lost: acknowledged.length - distinct.size + beyond.length,
    refused: linesOf(folder, "refused"),
  };
}

/** Whole lines only: the last one may have been cut by a kill before it was acknowledged to anybody. */
function linesOf(folder: string, name: string): string[] {
  try {
    return readFileSync(join(folder, name), "utf8").split("\n").slice(0, -1).filter(Boolean);
  } catch {
    return [];
  }
}
