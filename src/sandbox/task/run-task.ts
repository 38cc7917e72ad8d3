import { basename } from "node:path";
import type { EntryToPack } from "../../archive/pack-files.ts";
import type { SandboxRecord } from "../../contract/sandbox-run.ts";
import type { SandboxSummary } from "../../contract/sandbox-summary.ts";
import type { OutputChunk } from "../../engine/containers.ts";
import { labels } from "../../engine/engine.ts";
import { isError, SwarmError } from "../../errors/errors.ts";
import type { HeldLock } from "../../machine/locks/lock.ts";
import { formatBytes } from "../../text/duration-and-size.ts";
import { newCommandKey } from "../command/run-command.ts";
import { copyFilesIntoSandbox } from "../files/sandbox-files.ts";
import { inspectOwnContainer } from "../inspect-container.ts";
import type { ProjectSandboxDeps } from "../open-project-sandboxes.ts";
import { reconcileLockedSandbox, removeContainerAndVolumes } from "../reconcile-sandbox.ts";
import { hasSandboxEndedForGood } from "../rules/sandbox-end.ts";
import { ensureSandboxRuns, type RunningSandbox, sandboxEndError } from "../running-sandbox.ts";
import { attemptTask, countOomKills, type TaskOutcome } from "./attempt-task.ts";
import { collectSandboxFiles } from "./collect-files.ts";
import { findOutputsProblem, recordTaskEnd, summarizeTask } from "./summarize-task.ts";

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

/** The interpreters of task files. In other images, the task file's `#!` line names the interpreter. */
const interpreters: Readonly<Record<SandboxRecord["runtime"], readonly string[]>> = {
  python: ["python3"],
  node: ["node"],
  bash: ["bash"],
  image: [],
};

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
  const used = await ensureSandboxRuns(deps, settled, { held: true }, signal);
  const name = basename(file);
  const task: EntryToPack = { kind: "file", path: name, mode: 0o755, uid: 1000, gid: 1000, content };
  const [memoryKills] = await Promise.all([
    countOomKills(used, signal),
    copyFilesIntoSandbox(used, { into: "/task", files: [task] }, signal),
  ]);

  const startedAt = deps.clock().toISOString();
  const key = newCommandKey();
  const record: SandboxRecord = {
    ...used.record,
    status: "running",
    task: file,
    startedAt,
    completedAt: null,
    duration: null,
    exitCode: null,
    reason: null,
    execution: key,
    missingOutputs: [],
  };
  await deps.folders.write(record);
  await deps.folders.logEvent(record.id, { event: "task-started", task: file });
  let outcome: TaskOutcome;
  {
    await using log = await deps.folders.openOutput(record.id);
    const command = [...interpreters[record.runtime], `/task/${name}`];
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
  const { volumes } = await deps.connect(engine);
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
    if (!isError(error, "LOCK_TIMEOUT")) throw error;
    throw new SwarmError("SANDBOX_BUSY", { id, holder: error.details.holder }, error);
  }
}

/**
 * Records the result of a task. Uses a timeout of its own instead of the caller's signal, so that swarm also
 * records the result of an aborted task.
 */
async function finish(
  deps: ProjectSandboxDeps,
  container: RunningSandbox,
  { record, memoryKills }: { readonly record: SandboxRecord; readonly memoryKills: number },
  outcome: TaskOutcome,
): Promise<TaskRunResult> {
  const deadline = AbortSignal.timeout(afterwardsMs);
  const { containers, containerId } = container;
  const facts = await containers.inspect(containerId, undefined, deadline).catch(() => null);
  if (outcome.kind === "stopped" && facts?.state !== "running" && !isWatchedLimit(outcome.error)) {
    // The container ended while the task ran. `reconcileLockedSandbox` decides whether that was a timeout, a
    // lack of memory or another end.
    const settled = await reconcileLockedSandbox(deps, record, deadline);
    const failure = settled === record ? outcome.error : sandboxEndError(settled);
    return { record: settled, summary: await summarizeTask(deps.folders, settled, null), failure };
  }
  const exitCode = outcome.kind === "ran" ? outcome.result.exitCode : null;
  const kills = exitCode
    ? await countOomKills(container, deadline).catch((error: unknown) => {
        // The number only improves a message, so swarm records the task's result without it.
        if (error instanceof SwarmError) return memoryKills;
        throw error;
      })
    : 0;
  const open = await deps.connect(record.engine);
  const collected = await collectSandboxFiles(deps, open, { record, containerId });
  const failure =
    kills > memoryKills
      ? new SwarmError("MEMORY_EXHAUSTED", {
          name: "the task",
          limit: formatBytes(record.limits.memoryBytes),
        })
      : outcome.kind === "stopped"
        ? outcome.error
        : findOutputsProblem(exitCode, collected);
  const status = exitCode === 0 && failure === null ? "completed" : "failed";
  const reason = failure === null ? null : reasonOf(failure);
  const end = await recordTaskEnd(deps, record, { status, exitCode, reason }, collected);
  // The sandbox is over and can run no more tasks, so its space is freed.
  if (hasSandboxEndedForGood(end.record) && collected.stillInside.length === 0)
    await removeContainerAndVolumes(
      open,
      record,
      await inspectOwnContainer(containers, record, deadline),
      deadline,
    );
  return { ...end, failure };
}

/**
 * Returns whether swarm stopped the container because the task exceeded a limit that swarm enforces itself.
 */
function isWatchedLimit(error: unknown): boolean {
  return ["DISK_FULL", "FILES_EXHAUSTED", "PROCESSES_EXHAUSTED"].includes(reasonOf(error).code);
}

function reasonOf(error: unknown): { code: string; message: string } {
  const message = (error instanceof Error ? error.message : String(error)).slice(0, maxReasonLength);
  return { code: error instanceof SwarmError ? error.code : "INTERRUPTED", message };
}
