import { SwarmError } from "../domain/errors.ts";
import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { ProjectSandboxes } from "./project-sandboxes.ts";
import { settleSandbox } from "./settle-sandbox.ts";

export interface ListedSandboxes {
  readonly records: readonly SandboxRecord[];
  /** What could not be read, or not be compared with its engine. */
  readonly problems: readonly string[];
}

/** Every sandbox of a folder as it is now; where an engine does not answer, as it was known last. */
export async function listSandboxes(deps: ProjectSandboxes): Promise<ListedSandboxes> {
  const { records, unreadable } = await deps.folders.list();
  const problems = new Set(unreadable);
  const settled: SandboxRecord[] = [];
  for (const record of records) {
    try {
      settled.push(await settleSandbox(deps, record));
    } catch (error) {
      if (!(error instanceof SwarmError)) throw error;
      problems.add(error.message);
      settled.push(record);
    }
  }
  return { records: settled, problems: [...problems] };
}
