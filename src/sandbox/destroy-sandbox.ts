import type { SandboxRecord } from "../contract/sandbox-run.ts";
import type { ConnectedEngine } from "../engine/engine.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import type { HeldLock } from "../machine/locks/lock.ts";
import { inspectOwnContainer } from "./inspect-container.ts";
import {
  openProjectSandboxes,
  type ProjectSandboxDeps,
  type SandboxProject,
} from "./open-project-sandboxes.ts";
import { removeContainerAndVolumes } from "./reconcile-sandbox.ts";
import { findSandbox } from "./running-sandbox.ts";
import { collectSandboxFiles } from "./task/collect-files.ts";

const destroyMs = 60_000;

interface DestroySandboxesRequest {
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

/**
 * Destroys a sandbox: copies its outputs to this machine, removes its container and volumes, and records its
 * end. With `purge`, copies no outputs and deletes the sandbox's folder on this machine.
 */
export async function destroySandbox(
  deps: ProjectSandboxDeps,
  wanted: SandboxRecord,
  { purge }: { readonly purge: boolean },
): Promise<SandboxRecord> {
  const deadline = AbortSignal.timeout(destroyMs);
  const open = await deps.connect(wanted.engine);
  await using _held = await holdAgainstTasks(deps, open, wanted, deadline);
  // Reads the record again: the previous lock holder has recorded the end of its task.
  const record = (await deps.folders.read(wanted.id)) ?? wanted;
  try {
    const facts = await inspectOwnContainer(open.containers, record, deadline);
    const mayHoldFiles = facts !== null && facts.state !== "created";
    // Collects outputs again, because programs in the background may have written outputs after the last
    // task's end.
    if (mayHoldFiles && !purge) {
      const { stillInside } = await collectSandboxFiles(deps, open, {
        record,
        containerId: facts.id,
        withWork: false,
      });
      const [first] = stillInside;
      if (first !== undefined)
        throw new Error(
          `${first}${stillInside.length > 1 ? ", and more files" : ""}: only the sandbox has a copy of this output; --purge removes the sandbox anyway`,
        );
    }
    await removeContainerAndVolumes(open, record, facts, AbortSignal.timeout(destroyMs));
  } catch (error) {
    if (isError(error, "ENGINE_UNREACHABLE")) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new SwarmError("CLEANUP_FAILED", { left: [`sandbox ${record.id}`], reason }, error);
  }
  const destroyed: SandboxRecord = { ...record, status: "destroyed", execution: null };
  const { id, sandbox, status, createdAt } = record;
  const destroyedAt = deps.clock().toISOString();
  await deps.folders.addDestroyed({ id, sandbox, status, createdAt, destroyedAt });
  if (!purge) {
    await deps.folders.write(destroyed);
    await deps.folders.logEvent(id, { event: "destroyed" });
  }
  await deps.folders.clear(id, { everything: purge });
  return destroyed;
}

/**
 * Acquires the sandbox's lock. If another process holds the lock for a task, stops the container: then that
 * process records the end of its task and releases the lock.
 */
async function holdAgainstTasks(
  { folders }: ProjectSandboxDeps,
  { containers }: ConnectedEngine,
  record: SandboxRecord,
  signal: AbortSignal,
): Promise<HeldLock> {
  const lock = folders.lockOf(record.id);
  if ((await lock.holder()) !== null) {
    const facts = await inspectOwnContainer(containers, record, signal);
    if (facts?.state === "running") {
      // The process that runs the task reads this mark to learn why the container ended. It holds the lock
      // until it has recorded the end.
      await using _mark = await folders.markDestroying(record.id);
      await containers.stop(facts.id, { graceMs: 0 }, signal);
      return await lock.acquire(destroyMs, signal);
    }
  }
  return lock.acquire(destroyMs, signal);
}
