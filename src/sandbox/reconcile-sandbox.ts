import type { SandboxRecord } from "../contract/sandbox-run.ts";
import type { ContainerFacts } from "../engine/containers.ts";
import { type ConnectedEngine, labels } from "../engine/engine.ts";
import { isError } from "../errors/errors.ts";
import { readCommandState } from "./command/run-command.ts";
import { inspectOwnContainer } from "./inspect-container.ts";
import type { ProjectSandboxDeps } from "./open-project-sandboxes.ts";
import { findSandboxEnd, hasSandboxEndedForGood, type ObservedSandbox } from "./rules/sandbox-end.ts";
import { collectSandboxFiles } from "./task/collect-files.ts";
import { findOutputsProblem, recordTaskEnd, summarizeTask } from "./task/summarize-task.ts";

/**
 * Updates a sandbox's record from the state of its container. If the task or the container has ended, copies
 * the output files to the host and then records the end. Returns the record unchanged if another process
 * holds the sandbox's lock.
 */
export async function reconcileSandbox(
  deps: ProjectSandboxDeps,
  record: SandboxRecord,
  signal?: AbortSignal,
): Promise<SandboxRecord> {
  if (hasSandboxEndedForGood(record)) return record;
  const gone: SandboxRecord = { ...record, status: "destroyed" };
  if ((await deps.folders.read(record.id)) === null) return gone;
  const lock = deps.folders.lockOf(record.id);
  if ((await lock.holder()) !== null) return record;
  try {
    await using _held = await lock.acquire(0, signal);
    // Reads the record again: it may have changed before this process got the lock.
    const now = await deps.folders.read(record.id);
    if (now === null) return gone;
    return hasSandboxEndedForGood(now) ? now : await reconcileLockedSandbox(deps, now, signal);
  } catch (error) {
    if (isError(error, "LOCK_TIMEOUT")) return record;
    throw error;
  }
}

/** Does the same as `reconcileSandbox`, for a caller that already holds the sandbox's lock. */
export async function reconcileLockedSandbox(
  deps: ProjectSandboxDeps,
  record: SandboxRecord,
  signal?: AbortSignal,
): Promise<SandboxRecord> {
  const open = await deps.connect(record.engine);
  const facts = await inspectOwnContainer(open.containers, record, signal);
  if (record.container === null) return endCreation(deps, open, record, facts);
  const isDestroyed = await deps.folders.isBeingDestroyed(record.id);
  const end = findSandboxEnd(record, observedOf(facts), { now: deps.clock(), isDestroyed });
  if (!end) return facts ? settleTask(deps, open, record, signal) : record;

  const collected = facts
    ? await collectSandboxFiles(deps, open, { record, containerId: facts.id }, signal)
    : null;
  const { startedAt } = record;
  const settled: SandboxRecord = {
    ...record,
    ...end,
    exitCode: null,
    execution: null,
    missingOutputs: [...(collected?.missingOutputs ?? record.missingOutputs)],
    duration: startedAt === null ? null : Math.max(0, Date.parse(end.completedAt) - Date.parse(startedAt)),
  };
  await deps.folders.write(settled);
  await deps.folders.logEvent(record.id, { event: "ended", status: end.status, reason: end.reason });
  for (const problem of collected?.stillInside ?? [])
    await deps.folders.logEvent(record.id, { event: "kept", problem });
  // The task was interrupted, so no other process has written its summary.
  if (record.status === "running" && record.task !== null)
    await deps.folders.writeSummary(await summarizeTask(deps.folders, settled, collected));
  // Removes the container only after all its files are collected. Until then the container has the only copy.
  if (collected === null || collected.stillInside.length === 0)
    await removeContainerAndVolumes(open, record, facts);
  return settled;
}

/** Removes the container and the volumes of the given sandbox. */
export async function removeContainerAndVolumes(
  { containers, volumes }: ConnectedEngine,
  record: SandboxRecord,
  facts: ContainerFacts | null,
  signal?: AbortSignal,
): Promise<void> {
  if (facts) await containers.remove(facts.id, signal);
  for (const name of await volumes.list({ [labels.sandboxId]: record.id }, signal))
    await volumes.remove(name, signal);
}

/**
 * Cleans up after the creation of a sandbox was interrupted: removes the container and volumes, and records
 * the failure. Swarm cannot continue the creation, because it does not know which steps were done.
 */
async function endCreation(
  deps: ProjectSandboxDeps,
  open: ConnectedEngine,
  record: SandboxRecord,
  facts: ContainerFacts | null,
): Promise<SandboxRecord> {
  await removeContainerAndVolumes(open, record, facts);
  const reason = {
    code: "CREATION_INTERRUPTED",
    message: "the creation of the sandbox was interrupted; swarm removed the incomplete sandbox",
  };
  const settled: SandboxRecord = {
    ...record,
    status: "failed",
    completedAt: deps.clock().toISOString(),
    reason,
  };
  await deps.folders.write(settled);
  await deps.folders.logEvent(record.id, { event: "ended", status: "failed", reason });
  return settled;
}

/**
 * Records the end of a task if the swarm process that started the task was killed meanwhile. Reads the task's
 * exit code from a file in the container.
 */
async function settleTask(
  deps: ProjectSandboxDeps,
  open: ConnectedEngine,
  record: SandboxRecord,
  signal?: AbortSignal,
): Promise<SandboxRecord> {
  if (record.status !== "running" || record.execution === null || !record.container) return record;
  const container = { containers: open.containers, containerId: record.container.id };
  const command = await readCommandState(container, record.execution, signal);
  if (command.kind === "running") return record;
  const collected = await collectSandboxFiles(
    deps,
    open,
    { record, containerId: record.container.id },
    signal,
  );
  const exitCode = command.kind === "ended" ? command.exitCode : null;
  const incomplete = findOutputsProblem(exitCode, collected);
  const unattended = {
    code: "UNATTENDED",
    message: "the task ended after its swarm process had ended; the output since then was not kept",
  };
  const { code, message } =
    exitCode === null
      ? { code: "EXEC_FAILED", message: "the exit code of the task is unknown" }
      : (incomplete ?? unattended);
  const reason = { code, message };
  const status = exitCode === 0 && !incomplete ? "completed" : "failed";
  return (await recordTaskEnd(deps, record, { status, exitCode, reason }, collected)).record;
}

function observedOf(facts: ContainerFacts | null): ObservedSandbox {
  if (!facts) return { kind: "missing" };
  switch (facts.state) {
    case "created":
      return { kind: "created" };
    case "running":
    case "paused":
    case "restarting":
      return { kind: "alive" };
    case "exited":
    case "dead":
    case "removing":
      return {
        kind: "ended",
        exitCode: facts.exitCode,
        livedMs:
          facts.startedAt && facts.finishedAt ? facts.finishedAt.getTime() - facts.startedAt.getTime() : 0,
        finishedAt: (facts.finishedAt ?? new Date(0)).toISOString(),
        memoryExhausted: facts.memoryExhausted,
      };
  }
}
