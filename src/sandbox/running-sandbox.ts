import type { SandboxRecord } from "../contract/sandbox-run.ts";
import type { Containers } from "../engine/containers.ts";
import { SwarmError } from "../errors/errors.ts";
import { formatBytes } from "../text/duration-and-size.ts";
import type { CommandContainer } from "./command/run-command.ts";
import { startIfImageSuitable } from "./create-sandbox.ts";
import { inspectOwnContainer } from "./inspect-container.ts";
import type { ProjectSandboxDeps } from "./open-project-sandboxes.ts";
import { reconcileSandbox } from "./reconcile-sandbox.ts";
import { hasSandboxEndedForGood } from "./rules/sandbox-end.ts";

/** A sandbox and its container, which is running. */
export interface RunningSandbox extends CommandContainer {
  readonly record: SandboxRecord;
  readonly containers: Containers;
}

const shortId = 12;

/**
 * Finds the sandbox with the given id or name, or whose container id starts with the given text of at least
 * twelve characters. If `wanted` is null, finds the latest sandbox.
 */
export async function findSandbox(
  { folders }: Pick<ProjectSandboxDeps, "folders">,
  wanted: string | null,
): Promise<SandboxRecord> {
  const { records } = await folders.list();
  const present = records.filter(({ status }) => status !== "destroyed");
  if (wanted === null) {
    const [latest] = present;
    if (!latest) throw new SwarmError("SANDBOX_NONE", { folder: folders.root });
    return latest;
  }
  const isMeant = ({ id, sandbox, container }: SandboxRecord): boolean =>
    id === wanted ||
    sandbox === wanted ||
    (wanted.length >= shortId && container?.id.startsWith(wanted) === true);
  const found = present.find(isMeant);
  if (found) return found;
  // If the record exists but is unreadable, it is not in the list. This read then throws the reason.
  await folders.read(wanted);
  const destroyed = await folders.findDestroyed(wanted);
  if (destroyed) throw new SwarmError("SANDBOX_DESTROYED", { id: destroyed.id, at: destroyed.destroyedAt });
  throw new SwarmError("SANDBOX_UNKNOWN", { id: wanted });
}

/** Finds a sandbox as `findSandbox` does, and starts its container if the container was not started yet. */
export async function findRunningSandbox(
  deps: ProjectSandboxDeps,
  wanted: string | null,
  signal?: AbortSignal,
): Promise<RunningSandbox> {
  const record = await reconcileSandbox(deps, await findSandbox(deps, wanted), signal);
  return ensureSandboxRuns(deps, record, { held: false }, signal);
}

/**
 * Starts the sandbox's container if the container was created but not started yet. Throws if the sandbox has
 * ended. The caller has just updated the record with `reconcileSandbox`. `held` says whether the caller holds
 * the sandbox's lock.
 */
export async function ensureSandboxRuns(
  deps: ProjectSandboxDeps,
  record: SandboxRecord,
  { held }: { readonly held: boolean },
  signal?: AbortSignal,
): Promise<RunningSandbox> {
  if (hasSandboxEndedForGood(record)) throw sandboxEndError(record);
  const { containers } = await deps.connect(record.engine);
  const containerId = record.container?.id;
  if (!containerId)
    throw new SwarmError("SANDBOX_ENDED", {
      id: record.id,
      status: record.status,
      reason: "the sandbox's container was never created",
    });
  const facts = await inspectOwnContainer(containers, record, signal);
  if (!facts) throw new SwarmError("CONTAINER_GONE", { id: containerId });
  if (facts.state === "paused")
    throw new SwarmError("CONTAINER_NOT_RUNNING", { id: record.id, state: "paused" });
  if (facts.state !== "created") return { record, containerId, containers };
  await startIfImageSuitable({ containers, containerId }, record.image, signal);
  const startedAt = deps.clock().toISOString();
  const started: SandboxRecord = { ...record, status: "running", startedAt };
  // Writes the record only if no other process has begun a task meanwhile, so as not to overwrite its newer
  // record.
  const now = await deps.folders.read(record.id);
  if (held || now?.status === "created") await deps.folders.write(started);
  await deps.folders.logEvent(record.id, { event: "started", ttl: record.ttl });
  return { record: started, containerId, containers };
}

/** Returns an error that says why a sandbox, which has ended, ended. */
export function sandboxEndError(record: SandboxRecord): SwarmError {
  const { id, ttl, status, completedAt, reason, limits } = record;
  if (status === "timeout")
    return new SwarmError("SANDBOX_EXPIRED", { id, ttl, endedAt: completedAt ?? "an unknown time" });
  if (hasSandboxEndedForGood(record) && reason?.code === "CONTAINER_OOM")
    return new SwarmError("MEMORY_EXHAUSTED", {
      name: `sandbox ${id}`,
      limit: formatBytes(limits.memoryBytes),
    });
  return new SwarmError("SANDBOX_ENDED", {
    id,
    status,
    reason: reason?.message ?? "the sandbox is no longer usable",
  });
}
