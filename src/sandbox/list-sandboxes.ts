import { SwarmError } from "../domain/errors.ts";
import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { ProjectSandboxDeps } from "./project-sandboxes.ts";
import { reconcileSandbox } from "./settle-sandbox.ts";

export interface ListedSandboxes {
  readonly records: readonly SandboxRecord[];
  /** Messages about records that could not be read, or could not be compared with the engine. */
  readonly problems: readonly string[];
}

/**
 * Updates the records of a folder's sandboxes from their engines, and returns the records. If an engine does
 * not answer, the record stays unchanged.
 */
export async function listSandboxes(deps: ProjectSandboxDeps): Promise<ListedSandboxes> {
  const { records, unreadable } = await deps.folders.list();
  const problems = new Set(unreadable);
  const settled: SandboxRecord[] = [];
  for (const record of records) {
    try {
      settled.push(await reconcileSandbox(deps, record));
    } catch (error) {
      if (!(error instanceof SwarmError)) throw error;
      problems.add(error.message);
      settled.push(record);
    }
  }
  return { records: settled, problems: [...problems] };
}
