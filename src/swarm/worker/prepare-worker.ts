import { agentForAttempt } from "../../agents/agent-for-attempt.ts";
import type { RequestLimits, TaskRequestPayload } from "../../contract/acp.ts";
import type { ContainerRecord } from "../../contract/swarm-state.ts";
import { SwarmError } from "../../errors/errors.ts";
import type { Settings } from "../../settings/rules/settings.ts";
import { recordWithStatus, requireRecord } from "../../state/rules/swarm-state.ts";
import { recordWithStories } from "../../state/rules/worker-record.ts";
import { agentOfTask, type WorkerTask } from "../../tasks/rules/plan.ts";
import { parseDurationMs, parseSizeBytes } from "../../text/duration-and-size.ts";
import { type FoundFailureEvidence, findFailureEvidence } from "./failure-evidence.ts";
import type { SwarmOwnerDeps } from "./swarm-owner-deps.ts";
import type { Worker } from "./worker.ts";

/**
 * A worker that has not ended and is not prepared yet, so its base commit and its task request are still
 * unknown.
 */
export interface UnpreparedWorker {
  readonly name: string;
  readonly slug: string;
  readonly task: WorkerTask;
  /** The names of the workers on whose results this worker's task builds. */
  readonly dependsOn: readonly string[];
}

export interface OwnerServices extends SwarmOwnerDeps {
  readonly settings: Pick<
    Settings,
    | "agent"
    | "agentCommand"
    | "verify"
    | "escalate"
    | "timeout"
    | "work.files"
    | "work.size"
    | "work.fileSize"
  >;
  /** The commit whose files are in the image's workspace. */
  readonly imageCommit: string;
  readonly author: { readonly name: string; readonly email: string };
  /** Reads the script of a scripted agent from a file, and parses it. */
  readonly readScript: (path: string) => Promise<object>;
}

const bundlePath = "bundle:/aimi/in/repo.bundle";

/**
 * Prepares a worker: chooses its base commit and builds the task request for its adapter, or reuses those
 * stored earlier. Returns null if the results on which the worker builds conflict with each other.
 */
export async function prepareWorker(deps: OwnerServices, waiting: UnpreparedWorker): Promise<Worker | null> {
  const { slug, name, task } = waiting;
  const record = await atRecordedRef(deps, requireRecord(await deps.read(), name));
  const base = record.baseCommit ?? (await chooseBase(deps, waiting));
  if (base === null) return null;
  if (record.baseCommit === null) await deps.change(name, (now) => ({ ...now, baseCommit: base }));
  const at = { slug, attempt: record.attempt };
  const known = await deps.channel.findRequest(at);
  if (known !== null && !isStale(deps, record, known)) return { name, slug, task, base, request: known };
  const stories = task.taskFile.userStories.map(({ id }) => id);
  // The task file's stories may have changed since the task was planned.
  if (stories.join() !== record.stories.map(({ id }) => id).join())
    await deps.change(name, (now) => recordWithStories(now, stories));
  const current = recordWithStories(record, stories);
  const found = await findFailureEvidence(deps, current);
  const request = await payloadOf(deps, task, {
    base: record.collected?.commit ?? base,
    record: current,
    found,
  });
  await deps.channel.storeRequest(at, request);
  return { name, slug, task, base, request };
}

/**
 * Moves a worker's git ref to the commit from which the worker's rework starts. The command that ordered the
 * rework has only recorded this commit in the state.
 */
async function atRecordedRef(deps: OwnerServices, record: ContainerRecord): Promise<ContainerRecord> {
  const { collecting, collected, containerName } = record;
  if (collecting === null || collecting.new !== collected?.commit) return record;
  if (!(await deps.work.moveRef(collecting)))
    throw new SwarmError("GIT_FAILED", {
      command: "update-ref",
      reason: `${collecting.ref} does not point to the commit that swarm recorded for this ref`,
    });
  await deps.change(containerName, (now) => ({ ...now, collecting: null }));
  return { ...record, collecting: null };
}

/**
 * Returns whether a stored task request is out of date. That is so if it relies on the files of an image that
 * has been replaced, and was certainly not sent to a container yet.
 */
function isStale(
  { imageCommit }: OwnerServices,
  record: ContainerRecord,
  request: TaskRequestPayload,
): boolean {
  const isUnsent = record.containerId === null && record.creating === null;
  return isUnsent && request.repoUrl === "image:" && request.baseCommit !== imageCommit;
}

async function chooseBase(
  deps: OwnerServices,
  { name, task, dependsOn, slug }: UnpreparedWorker,
): Promise<string | null> {
  const { baseRef } = task.taskFile.metadata;
  if (dependsOn.length === 0) return baseRef ?? deps.imageCommit;
  const state = await deps.read();
  const commits = dependsOn.map((other) => {
    const { collected, baseCommit } = requireRecord(state, other);
    return collected?.commit ?? baseCommit ?? deps.imageCommit;
  });
  const merged = await deps.work.mergeBases(commits, deps.signal);
  if (merged.kind === "commit") return merged.commit;
  const reason = {
    code: "BASE_CONFLICT",
    message: `the results from which the worker starts conflict in ${merged.files.slice(0, 5).join(", ")}`,
  };
  deps.emit({ event: "ended", worker: slug, status: "failed", reason });
  await deps.change(name, (now) => recordWithStatus(now, "failed", reason, deps.clock()));
  return null;
}

async function payloadOf(
  { settings, author, readScript, imageCommit }: OwnerServices,
  { path, taskFile }: WorkerTask,
  {
    base,
    record,
    found,
  }: {
    readonly base: string;
    readonly record: ContainerRecord;
    readonly found: FoundFailureEvidence | null;
  },
): Promise<TaskRequestPayload> {
  const { metadata } = taskFile;
  const { script, ...agent } = agentForAttempt(
    agentOfTask({ taskFile }, settings),
    settings.escalate,
    record.attempt,
  );
  return {
    taskFilePath: path,
    branchName: record.branchName,
    repoUrl: base === imageCommit ? "image:" : bundlePath,
    taskFile,
    baseCommit: base,
    author,
    agent: { ...agent, ...(script === undefined ? {} : { script: await readScript(script) }) },
    ...(record.attempt > 1 && { done: doneIn(record) }),
    ...(found && { evidence: found.evidence }),
    verify: [...new Set([...(metadata.verify ?? settings.verify), ...(found?.checks ?? [])])],
    limits: {
      wallClockMs: parseDurationMs(metadata.timeout ?? settings.timeout) ?? 6 * 3_600_000,
      ...workLimitsOf(settings),
    },
  };
}

function workLimitsOf(
  settings: OwnerServices["settings"],
): Pick<RequestLimits, "workFiles" | "workBytes" | "workFileBytes"> {
  return {
    workFiles: settings["work.files"],
    workBytes: parseSizeBytes(settings["work.size"]) ?? 1,
    workFileBytes: parseSizeBytes(settings["work.fileSize"]) ?? 1,
  };
}

function doneIn({ stories }: ContainerRecord): NonNullable<TaskRequestPayload["done"]> {
  return stories.flatMap(({ id, status, commit }) =>
    status === "completed" ? [{ storyId: id, commit }] : [],
  );
}
