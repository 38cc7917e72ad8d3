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
 * Returns the record of every sandbox of a folder, up to date with its engine. If an engine does not answer,
 * the last recorded state stays.
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
