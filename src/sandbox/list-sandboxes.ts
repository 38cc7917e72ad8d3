import type { SandboxRecord } from "../contract/sandbox-run.ts";
import { SwarmError } from "../errors/errors.ts";
import { openProjectSandboxes, type SandboxProject } from "./open-project-sandboxes.ts";
import { reconcileSandbox } from "./reconcile-sandbox.ts";

interface ListedSandboxes {
  readonly records: readonly SandboxRecord[];
  /** The error messages about records that swarm could not read, or could not update from the engine. */
  readonly problems: readonly string[];
}

/**
 * Updates the records of all sandboxes in a folder from the state of their containers, and returns the
 * records. If an engine does not answer, a record stays unchanged.
 */
export async function listSandboxes(project: SandboxProject): Promise<ListedSandboxes> {
  const sandboxes = await openProjectSandboxes(project);
  const { records, unreadable } = await sandboxes.folders.list();
  const problems = new Set(unreadable);
  const settled: SandboxRecord[] = [];
  for (const record of records) {
    try {
      settled.push(await reconcileSandbox(sandboxes, record));
    } catch (error) {
      if (!(error instanceof SwarmError)) throw error;
      problems.add(error.message);
      settled.push(record);
    }
  }
  return { records: settled, problems: [...problems] };
}
