import { agentForAttempt } from "../../agents/agent-for-attempt.ts";
import type { TaskRequestPayload } from "../../contract/acp.ts";
import type { ContainerRecord } from "../../contract/swarm-state.ts";
import { SwarmError } from "../../errors/errors.ts";
import { requireRecord } from "../../state/rules/swarm-state.ts";
import { recordWithStories } from "../../state/rules/worker-record.ts";
import { agentOfTask, type WorkerTask } from "../../tasks/rules/plan.ts";
import { parseDurationMs, parseSizeBytes } from "../../text/duration-and-size.ts";
import { findFailureEvidence } from "./failure-evidence.ts";
import type { OwnerServices } from "./owner-services.ts";
import { recordWorkerEnd } from "./record-worker-end.ts";
import type { UnpreparedWorker, Worker } from "./worker.ts";

const bundlePath = "bundle:/aimi/in/repo.bundle";

/**
 * Prepares a worker: chooses its base commit and builds the task request for its adapter, or reuses those
 * stored earlier. Returns null if the results on which the worker builds conflict with each other.
 */
export async function prepareWorker(deps: OwnerServices, waiting: UnpreparedWorker): Promise<Worker | null> {
  const { store, channel } = deps;
  const { slug, name, task } = waiting;
  const record = await atRecordedRef(deps, await store.record(name));
  const base = record.baseCommit ?? (await chooseBase(deps, waiting));
  if (base === null) return null;
  if (record.baseCommit === null) await store.change(name, (now) => ({ ...now, baseCommit: base }));
  const at = { slug, attempt: record.attempt };
  const known = await channel.findRequest(at);
  if (known !== null && !isStale(deps, record, known)) return { name, slug, task, base, request: known };
  const stories = task.taskFile.userStories.map(({ id }) => id);
  // The task file's stories may have changed since the task was planned.
  if (stories.join() !== record.stories.map(({ id }) => id).join())
    await store.change(name, (now) => recordWithStories(now, stories));
  const request = await payloadOf(deps, task, recordWithStories(record, stories), base);
  await channel.storeRequest(at, request);
  return { name, slug, task, base, request };
}

/**
 * Moves a worker's git ref to the commit from which the worker's rework starts. The command that ordered the
 * rework has only recorded this commit in the state.
 */
async function atRecordedRef(
  { repository, store }: OwnerServices,
  record: ContainerRecord,
): Promise<ContainerRecord> {
  const { collecting, collected, containerName } = record;
  if (collecting === null || collecting.new !== collected?.commit) return record;
  if (!(await repository.work.moveRef(collecting)))
    throw new SwarmError("GIT_FAILED", {
      command: "update-ref",
      reason: `${collecting.ref} does not point to the commit that swarm recorded for this ref`,
    });
  await store.change(containerName, (now) => ({ ...now, collecting: null }));
  return { ...record, collecting: null };
}

/**
 * Returns whether a stored task request is out of date. That is so if it relies on the files of an image that
 * has been replaced, and was certainly not sent to a container yet.
 */
function isStale(
  { sandboxes }: OwnerServices,
  { containerId, creating }: ContainerRecord,
  { repoUrl, baseCommit }: TaskRequestPayload,
): boolean {
  const isUnsent = containerId === null && creating === null;
  return isUnsent && repoUrl === "image:" && baseCommit !== sandboxes.imageCommit;
}

async function chooseBase(
  deps: OwnerServices,
  { task, dependsOn, ...worker }: UnpreparedWorker,
): Promise<string | null> {
  const { imageCommit } = deps.sandboxes;
  if (dependsOn.length === 0) return task.taskFile.metadata.baseRef ?? imageCommit;
  const state = await deps.store.read();
  const commits = dependsOn.map((other) => {
    const { collected, baseCommit } = requireRecord(state, other);
    return collected?.commit ?? baseCommit ?? imageCommit;
  });
  const merged = await deps.repository.work.mergeBases(commits, deps.time.signal);
  if (merged.kind === "commit") return merged.commit;
  const files = merged.files.slice(0, 5).join(", ");
  const message = `the results from which the worker starts conflict in ${files}`;
  await recordWorkerEnd(deps, worker, { status: "failed", reason: { code: "BASE_CONFLICT", message } });
  return null;
}

async function payloadOf(
  deps: OwnerServices,
  { path, taskFile }: WorkerTask,
  record: ContainerRecord,
  workerBase: string,
): Promise<TaskRequestPayload> {
  const { settings } = deps.swarm;
  const { metadata } = taskFile;
  const base = record.collected?.commit ?? workerBase;
  const found = await findFailureEvidence(deps, record);
  const { script, ...agent } = agentForAttempt(
    agentOfTask({ taskFile }, settings),
    settings.escalate,
    record.attempt,
  );
  return {
    taskFilePath: path,
    branchName: record.branchName,
    repoUrl: base === deps.sandboxes.imageCommit ? "image:" : bundlePath,
    taskFile,
    baseCommit: base,
    author: deps.repository.author,
    agent: { ...agent, ...(script !== undefined && { script: await deps.tasks.readScript(script) }) },
    ...(record.attempt > 1 && { done: doneIn(record) }),
    ...(found && { evidence: found.evidence }),
    verify: [...new Set([...(metadata.verify ?? settings.verify), ...(found?.checks ?? [])])],
    limits: {
      wallClockMs: parseDurationMs(metadata.timeout ?? settings.timeout) ?? 6 * 3_600_000,
      workFiles: settings["work.files"],
      workBytes: parseSizeBytes(settings["work.size"]) ?? 1,
      workFileBytes: parseSizeBytes(settings["work.fileSize"]) ?? 1,
    },
  };
}

function doneIn({ stories }: ContainerRecord): NonNullable<TaskRequestPayload["done"]> {
  return stories.flatMap(({ id, status, commit }) =>
    status === "completed" ? [{ storyId: id, commit }] : [],
  );
}
