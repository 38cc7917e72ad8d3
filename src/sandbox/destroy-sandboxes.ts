import type { SandboxRecord } from "../contract/sandbox-run.ts";
import { destroySandbox } from "./destroy-sandbox.ts";
import { openProjectSandboxes, type SandboxProject } from "./open-project-sandboxes.ts";
import { findSandbox } from "./running-sandbox.ts";

export interface DestroySandboxesRequest {
  /** The ID or name of the sandbox; null for the latest sandbox. */
  readonly sandbox: string | null;
  /** Whether to destroy all sandboxes. */
  readonly all: boolean;
  /** Whether to delete also the sandboxes' folders on this machine, even of sandboxes destroyed earlier. */
  readonly purge: boolean;
}

/** Destroys one or all sandboxes, and returns their records. */
export async function destroySandboxes(
  project: SandboxProject,
  { sandbox, all, purge }: DestroySandboxesRequest,
  onStep: (step: string) => void,
): Promise<SandboxRecord[]> {
  const sandboxes = await openProjectSandboxes(project);
  const { records } = await sandboxes.folders.list();
  const isGone = ({ status }: SandboxRecord): boolean => status === "destroyed";
  const gone = purge ? records.filter((record) => isGone(record) && (all || record.id === sandbox)) : [];
  for (const { id } of gone) await sandboxes.folders.clear(id, { everything: true });
  const targets = all
    ? records.filter((record) => !isGone(record))
    : gone.length > 0
      ? []
      : [await findSandbox(sandboxes, sandbox)];
  const destroyed = [...gone];
  for (const record of targets) {
    onStep(`Destroying ${record.id}`);
    destroyed.push(await destroySandbox(sandboxes, record, { purge }));
  }
  return destroyed;
}
