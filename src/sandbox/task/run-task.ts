import { basename } from "node:path";
import type { EntryToPack } from "../../archive/pack-files.ts";
import type { SandboxRecord } from "../../contract/sandbox-run.ts";
import type { SandboxSummary } from "../../contract/sandbox-summary.ts";
import type { OutputChunk } from "../../engine/containers.ts";
import { labels } from "../../engine/engine.ts";
import { SwarmError } from "../../errors/errors.ts";
import type { HeldLock } from "../../machine/lock.ts";
import { formatBytes } from "../../text/duration-and-size.ts";
import { newCommandKey } from "../command/run-command.ts";
import { copyFilesIntoSandbox } from "../files/sandbox-files.ts";
import { inspectOwnContainer } from "../inspect-container.ts";
import type { ProjectSandboxDeps } from "../project-sandboxes.ts";
import { reconcileLockedSandbox, removeContainerAndVolumes } from "../reconcile-sandbox.ts";
import { hasSandboxEndedForGood } from "../rules/sandbox-end.ts";
import { ensureReconciledSandboxRuns, type RunningSandbox, throwIfSandboxEnded } from "../running-sandbox.ts";
import { attemptTask, countOomKills, interpreterCommandFor, type TaskOutcome } from "./attempt-task.ts";
import { collectSandboxFiles } from "./collect-files.ts";
import { findOutputsProblem, summarizeTask } from "./summarize-task.ts";

export interface RunTaskRequest {
  readonly record: SandboxRecord;
  /** The path of the task file, as the user typed it. */
  readonly file: string;
  readonly content: Uint8Array;
  readonly onOutput: (chunk: OutputChunk) => Promise<void> | void;
}

export interface TaskRunResult {
  readonly record: SandboxRecord;
  readonly summary: SandboxSummary;
  /** The error that stopped the task or made its outputs incomplete; null if there was none. */
  readonly failure: unknown;
}

const afterwardsMs = 60_000;
/** The maximum number of characters of `reason` in a sandbox's record. */
const maxReasonLength = 2_000;

/**
 * Runs a task file in a sandbox with its interpreter, such as `python3`, and copies the outputs to this
 * machine.
 */
export async function runTaskInSandbox(
  deps: ProjectSandboxDeps,
  { record: wanted, file, content, onOutput }: RunTaskRequest,
  signal?: AbortSignal,
): Promise<TaskRunResult> {
  await using _held = await holdSandbox(deps, wanted, signal);
  // Reads the record again: another task may have run while this process waited for the lock.
  const now = await deps.folders.read(wanted.id);
  if (!now) throw new SwarmError("SANDBOX_DESTROYED", { id: wanted.id, at: "an unknown time" });
  const settled = await reconcileLockedSandbox(deps, now, signal);
  if (settled.status === "running" && settled.execution !== null)
    throw new SwarmError("SANDBOX_BUSY", {
      id: settled.id,
      holder: `the task ${settled.task} is still running, although the swarm process that started it has ended`,
    });
  const used = await ensureReconciledSandboxRuns(deps, settled, { held: true }, signal);
  const name = basename(file);
  const task: EntryToPack = { kind: "file", path: name, mode: 0o755, uid: 1000, gid: 1000, content };
  const [memoryKills] = await Promise.all([
    countOomKills(used, signal),
    copyFilesIntoSandbox(used.containers, { id: used.containerId, into: "/task", files: [task] }, signal),
  ]);

  const startedAt = deps.clock().toISOString();
  const key = newCommandKey();
  const record: SandboxRecord = {
    ...{ ...used.record, status: "running", task: file, startedAt },
    ...{
      completedAt: null,
      duration: null,
      exitCode: null,
      reason: null,
      execution: key,
      missingOutputs: [],
    },
  };
  await deps.folders.write(record);
  await deps.folders.logEvent(record.id, { event: "task-started", task: file });
  let outcome: TaskOutcome;
  {
    await using log = await deps.folders.openOutput(record.id);
    const command = [...interpreterCommandFor(record.runtime), `/task/${name}`];
    const mounted = await mountedFolders(deps, record, signal);
    outcome = await attemptTask(used, { record, command, mounted, key, log, onOutput }, signal);
  }
  return await finish(deps, used, { record, memoryKills }, outcome);
}

/**
 * Returns the paths at which volumes are mounted in a sandbox. The engine does not count volumes as disk
 * usage of the container. Only sandboxes with a read-only root filesystem have volumes.
 */
async function mountedFolders(
  deps: ProjectSandboxDeps,
  { id, engine }: SandboxRecord,
  signal?: AbortSignal,
): Promise<string[]> {
  const { volumes } = await (await deps.engineAt(engine)).open();
  const found = await volumes.list({ [labels.sandboxId]: id }, signal);
  return found.length > 0 ? ["/work", "/outputs", "/task"] : [];
}

async function holdSandbox(
  { folders }: ProjectSandboxDeps,
  { id }: SandboxRecord,
  signal?: AbortSignal,
): Promise<HeldLock> {
  try {
    return await folders.lockOf(id).acquire(1_000, signal);
  } catch (error) {
    if (!(error instanceof SwarmError) || error.code !== "LOCK_TIMEOUT") throw error;
    const { holder } = error.details as { holder: string };
    throw new SwarmError("SANDBOX_BUSY", { id, holder }, error);
  }
}

/**
 * Records the result of a task. Uses a timeout of its own instead of the caller's signal, so that swarm also
 * records the result of an aborted task.
 */
async function finish(
  deps: ProjectSandboxDeps,
  { containers, containerId }: RunningSandbox,
  { record, memoryKills }: { readonly record: SandboxRecord; readonly memoryKills: number },
  outcome: TaskOutcome,
): Promise<TaskRunResult> {
  const deadline = AbortSignal.timeout(afterwardsMs);
  const limit = outcome.kind === "stopped" ? reasonOf(outcome.error) : null;
  const facts = await containers.inspect(containerId, undefined, deadline).catch(() => null);
  if (outcome.kind === "stopped" && facts?.state !== "running" && !isWatchedLimit(limit)) {
    // The container ended while the task ran. `reconcileLockedSandbox` decides whether that was a timeout, a
    // lack of memory or another end.
    const settled = await reconcileLockedSandbox(deps, record, deadline);
    const failure = settled === record ? outcome.error : endOf(settled);
    return { record: settled, summary: await summarizeTask(deps.folders, settled, null), failure };
  }
  const failed = outcome.kind === "ran" && outcome.result.exitCode !== 0;
  const kills = failed
    ? await countOomKills({ containers, containerId }, deadline).catch(ifForeseen(memoryKills))
    : 0;
  const ranOut = kills > memoryKills;
  const open = await (await deps.engineAt(record.engine)).open();
  const collected = await collectSandboxFiles(deps, open, { record, containerId });
  const completedAt = deps.clock().toISOString();
  const result = outcome.kind === "ran" ? outcome.result : null;
  const failure = ranOut
    ? new SwarmError("MEMORY_EXHAUSTED", { name: "the task", limit: formatBytes(record.limits.memoryBytes) })
    : outcome.kind === "stopped"
      ? outcome.error
      : findOutputsProblem(result?.exitCode ?? null, collected);
  const finished: SandboxRecord = {
    ...record,
    status: result?.exitCode === 0 && failure === null ? "completed" : "failed",
    ...{ completedAt, exitCode: result?.exitCode ?? null, execution: null },
    duration: Date.parse(completedAt) - Date.parse(record.startedAt ?? completedAt),
    reason: failure === null ? null : reasonOf(failure),
    missingOutputs: [...collected.missingOutputs],
  };
  const summary = await summarizeTask(deps.folders, finished, collected);
  await deps.folders.writeSummary(summary);
  await deps.folders.write(finished);
  const { status, exitCode, reason } = finished;
  await deps.folders.logEvent(record.id, { event: "task-ended", status, exitCode, reason });
  // The sandbox is over and can run no more tasks, so its space is freed.
  if (hasSandboxEndedForGood(finished) && collected.stillInside.length === 0)
    await removeContainerAndVolumes(
      open,
      finished,
      await inspectOwnContainer(containers, finished, deadline),
      deadline,
    );
  return { record: finished, summary, failure };
}

/**
 * Returns whether swarm stopped the container because the task exceeded a limit that swarm enforces itself.
 */
function isWatchedLimit(reason: SandboxRecord["reason"]): boolean {
  return reason !== null && ["DISK_FULL", "FILES_EXHAUSTED", "PROCESSES_EXHAUSTED"].includes(reason.code);
}

function reasonOf(error: unknown): { code: string; message: string } {
  const message = (error instanceof Error ? error.message : String(error)).slice(0, maxReasonLength);
  return { code: error instanceof SwarmError ? error.code : "INTERRUPTED", message };
}

function endOf(record: SandboxRecord): unknown {
  try {
    throwIfSandboxEnded(record);
    return new SwarmError("SANDBOX_ENDED", {
      ...{
        id: record.id,
        status: record.status,
        reason: record.reason?.message ?? "the sandbox is no longer usable",
      },
    });
  } catch (error) {
    return error;
  }
}

/**
 * Returns an error handler that returns a default value for a SwarmError, and rethrows any other error. The
 * value only improves a message, so swarm can record the task's result without the value.
 */
function ifForeseen<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if (error instanceof SwarmError) return value;
    throw error;
  };
}
