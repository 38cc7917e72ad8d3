import type { ContainerRecord, Reason } from "../../contract/swarm-state.ts";
import type { StoryStartCommit } from "../../git/work-repository-port.ts";
import type { AdapterConversation, AdapterConversationEnd } from "../../protocol/adapter-conversation.ts";
import type { AdapterMessage } from "../../protocol/rules/protocol-messages.ts";
import { isTerminalStatus } from "../../state/rules/container-status.ts";
import { judgeEndedAttempt } from "../../state/rules/reconcile-records.ts";
import { recordWithStatus, requireRecord } from "../../state/rules/swarm-state.ts";
import { recordWithMessage } from "../../state/rules/worker-record.ts";
import { ensureContainerRuns, removeWorkerContainerAndVolumes, stopWorker } from "./ensure-container.ts";
import type { HaltRequest } from "./halt-request.ts";
import {
  type BundleStoredByAdapter,
  importCommitsFromAdapter,
  publishWorkAsBranch,
} from "./import-commits.ts";
import type { SwarmOwnerDeps } from "./swarm-owner-deps.ts";
import { unpauseWorker } from "./unpause-worker.ts";
import { correctVerdictByProof, type ProofSignals, type WorkerVerdict } from "./verdict-by-proof.ts";
import type { Worker } from "./worker.ts";

/** The signals and the callback with which the owner controls a running worker. */
export interface WorkerControl {
  /**
   * Aborted with a `HaltRequest` when the owner must ask the worker's agent to stop. A later resume can
   * continue the worker.
   */
  readonly halt: AbortSignal;
  /** Aborted when the worker must stop at once, without waiting for the check of its result. */
  readonly stopNow: AbortSignal;
  /** Called with the owner's connection to the worker's adapter when it opens, and with null when it ends. */
  readonly onConversation: (conversation: AdapterConversation | null) => void;
}

/**
 * The maximum number of the worker's messages whose changes wait for the next batched write to the state. If
 * more wait, they are written at once.
 */
const maxUnwritten = 1_000;

/**
 * Runs one worker to its end: starts its container, processes the adapter's messages and imports the agent's
 * commits. Begins at the recorded state, so it continues what an earlier owner left unfinished.
 */
export async function runWorker(
  deps: SwarmOwnerDeps,
  worker: Worker,
  { halt, stopNow, onConversation }: WorkerControl,
): Promise<void> {
  const container = await ensureContainerRuns(deps, worker, halt);
  if (container === null) return failUnstarted(deps, worker);
  const { containerId, pausedMs } = container;
  const storedBy = storedWork();
  const failure = await replayJournal(deps, worker, { containerId, storedBy });
  if (failure !== null)
    return settle(
      deps,
      worker,
      { end: { kind: "violation", reason: failure }, isAllHere: false },
      { halt, stopNow },
    );
  const { slug, task, request } = worker;
  const completedStoryIds = (request.done ?? []).map(({ storyId }) => storyId);
  await using conversation = await deps.channel.connect(
    {
      ...{ containerId, slug, request, attempt: (await recordOf(deps, worker)).attempt },
      storyIds: task.taskFile.userStories.map(({ id }) => id),
      completedStoryIds,
      environment: () => deps.networkAccess.environment(worker),
    },
    deps.signal,
  );
  // Ignores errors, such as an unreachable engine or an unwritable state, because `runConversation` meets and
  // throws the same errors.
  const cancel = (): void => void askToStop().catch(() => {});
  if (halt.aborted) cancel();
  else halt.addEventListener("abort", cancel, { once: true });
  if (pausedMs > 0) await conversation.resumed(pausedMs);
  onConversation(conversation);
  try {
    await settle(deps, worker, await runConversation(deps, worker, conversation, { containerId, storedBy }), {
      halt,
      stopNow,
    });
  } finally {
    onConversation(null);
    halt.removeEventListener("abort", cancel);
  }

  /**
   * Asks the adapter to stop the agent, and then unpauses the worker, because a paused adapter receives no
   * messages.
   */
  async function askToStop(): Promise<void> {
    await conversation.cancel(halt.reason as HaltRequest);
    await unpauseWorker(deps, await recordOf(deps, worker), (ms) => conversation.resumed(ms));
  }
}

/**
 * Makes up for a crash of the previous owner: updates the worker's record from the messages in the host's
 * journal, and imports work that the adapter stored. Returns why an import failed, or null if none failed.
 */
async function replayJournal(
  deps: SwarmOwnerDeps,
  worker: Worker,
  { containerId, storedBy }: ToCollect,
): Promise<Reason | null> {
  const record = await recordOf(deps, worker);
  let known = record;
  let newest: Stored | null = null;
  const unfinished: Stored[] = [];
  for await (const message of deps.channel.readJournal({ slug: worker.slug, attempt: record.attempt })) {
    known = recordWithMessage(known, message, deps.clock());
    const stored = storedBy(message);
    if (stored === null) continue;
    if (stored.failedStory === null) newest = stored;
    else unfinished.push(stored);
  }
  const { stories, storyProgress, usage, lastSeq } = known;
  if (lastSeq !== record.lastSeq)
    await deps.change(worker.name, (now) => ({ ...now, stories, storyProgress, usage, lastSeq }));
  for (const stored of unfinished) {
    const failure = await importCommitsFromAdapter(deps, worker, { ...stored, containerId });
    if (failure !== null) return failure;
  }
  return newest === null || newest.commit === record.collected?.commit
    ? null
    : importCommitsFromAdapter(deps, worker, { ...newest, containerId });
}

interface ConversationResult {
  readonly end: AdapterConversationEnd;
  /** Whether all git bundles that the adapter stored were imported. */
  readonly isAllHere: boolean;
}

/**
 * Processes the messages that the adapter sends to the owner, until the connection ends. Imports stored git
 * bundles while the container runs.
 */
async function runConversation(
  deps: SwarmOwnerDeps,
  worker: Worker,
  conversation: AdapterConversation,
  { containerId, storedBy }: ToCollect,
): Promise<ConversationResult> {
  let failure: Reason | null = null;
  let unwritten: ((record: ContainerRecord) => ContainerRecord)[] = [];
  let isDue = false;
  const broken = new AbortController();
  const withUnwritten = (record: ContainerRecord): ContainerRecord => {
    const changes = unwritten;
    unwritten = [];
    return changes.reduce((changed, change) => change(changed), record);
  };
  const write = (): Promise<void> => deps.change(worker.name, withUnwritten);
  /**
   * Writes the waiting changes of the worker's record after a short delay, in one batch with the changes of
   * other workers. Messages about the progress of a story do not use it: they are written at once.
   */
  const writeSoon = (): void => {
    if (isDue) return;
    isDue = true;
    deps.changeSoon(worker.name, withUnwritten).then(
      () => {
        isDue = false;
      },
      (error: unknown) => broken.abort(error),
    );
  };
  for await (const event of conversation.events) {
    broken.signal.throwIfAborted();
    if (event.kind === "end") {
      await write();
      const end = failure === null ? event.end : ({ kind: "violation", reason: failure } as const);
      return { end, isAllHere: failure === null };
    }
    if (event.kind === "line")
      deps.emit({ event: "line", worker: worker.slug, status: event.status, why: event.why });
    if (event.kind !== "message") continue;
    const { message } = event;
    deps.onMessage(worker, message);
    unwritten.push((record) => recordWithMessage(record, message, deps.clock()));
    if (message.type === "progress-update" && message.payload.status === "in_progress")
      deps.crashPoint("mid-run");
    if (message.type === "progress-update" || unwritten.length > maxUnwritten) await write();
    else writeSoon();
    const stored = storedBy(message);
    if (stored === null || failure !== null) continue;
    deps.crashPoint("after-checkpoint-before-collect");
    failure = await importCommitsFromAdapter(deps, worker, { ...stored, containerId });
    // Asks the agent to stop: work that cannot be imported is useless.
    if (failure !== null) await conversation.cancel({ reason: failure.code, graceMs: 0 });
  }
  throw new Error("the conversation with the adapter ended without a result");
}

type Stored = Omit<BundleStoredByAdapter, "containerId">;

interface ToCollect {
  readonly containerId: string;
  readonly storedBy: (message: AdapterMessage) => Stored | null;
}

/**
 * Returns a function that finds the git bundle that a message announces; null if it announces none. The
 * function also returns the commit with which the story began, which an earlier message contained.
 */
function storedWork(): ToCollect["storedBy"] {
  const startById = new Map<string, StoryStartCommit>();
  return (message) => {
    if (message.type === "checkpoint") {
      const { storyId, commit, bundle, bytes, sha256 } = message.payload;
      if (bundle === null || sha256 === null) return null;
      return { commit, bundle, bytes, sha256, failedStory: null, start: startById.get(storyId) };
    }
    if (message.type !== "progress-update") return null;
    const { storyId, from, tree, failedWork } = message.payload;
    if (from !== undefined && tree !== undefined) startById.set(storyId, { commit: from, tree });
    return failedWork ? { ...failedWork, failedStory: storyId } : null;
  };
}

/** Records how the worker ended, and then stops or removes its container. */
async function settle(
  deps: SwarmOwnerDeps,
  worker: Worker,
  { end, isAllHere }: ConversationResult,
  signals: ProofSignals,
): Promise<void> {
  await deps.networkAccess.waitForRecords(worker);
  const record = await recordOf(deps, worker);
  const accessEnd = accessEndReason(deps, worker);
  const judged = withAccessEnd(judge(record, end, deps.runtime), accessEnd);
  deps.crashPoint("after-completion-before-record");
  const verdict =
    judged.status === "completed" ? await correctVerdictByProof(deps, worker, judged, signals) : judged;
  deps.emit({ event: "ended", worker: worker.slug, ...verdict });
  if (verdict.status === "completed") await publishWorkAsBranch(deps, worker);
  // Writes the ledger before the record. If the owner crashes in between, the next owner repeats both, and no
  // later swarm repeats the task.
  if (verdict.status !== "stopped") await deps.addToLedger(worker, verdict.status);
  await deps.change(worker.name, (now) => ({
    ...recordWithStatus(now, verdict.status, verdict.reason, deps.clock()),
    ...{
      reason: verdict.reason,
      acpPid: null,
      exitCode: end.kind === "exited" ? end.exitCode : end.kind === "gone" ? null : now.exitCode,
    },
  }));
  if (verdict.status === "stopped") return deps.networkAccess.close(worker, { isGone: false });
  // Keeps the container if there is no trusted final message: its volume may then have the only copy of some
  // work.
  const hasFinalMessage =
    end.kind === "error" ||
    (end.kind === "completion" && (accessEnd !== null || end.message.payload.status === judged.status));
  if (!isAllHere || !hasFinalMessage) return stopWorker(deps, worker);
  // With proofs, the home volume stays: a later rework may return the result to its agent, which needs its
  // conversation there.
  const withHome = verdict.status === "completed" && deps.prove === null;
  await removeWorkerContainerAndVolumes(deps, worker, { withHome, halt: signals.halt });
}

/**
 * Returns why the worker's network access has ended for good, for example because its budget is used up; null
 * if it has not ended.
 */
function accessEndReason({ networkAccess }: SwarmOwnerDeps, { slug }: Worker): Reason | null {
  const accessEnded = networkAccess.accessEnded(slug);
  return accessEnded.aborted ? (accessEnded.reason as Reason) : null;
}

/**
 * If the worker's network access had ended before the worker failed, replaces the reason of the failure by
 * the reason for that end. The agent's own errors are only its consequences.
 */
function withAccessEnd(verdict: WorkerVerdict, reason: Reason | null): WorkerVerdict {
  return reason === null || verdict.status === "completed" ? verdict : { status: "failed", reason };
}

/** Records a worker as failed if it could not start because its network access has ended for good. */
async function failUnstarted(deps: SwarmOwnerDeps, worker: Worker): Promise<void> {
  const reason = accessEndReason(deps, worker);
  const { status } = await recordOf(deps, worker);
  if (reason === null || isTerminalStatus(status)) return;
  deps.emit({ event: "ended", worker: worker.slug, status: "failed", reason });
  await deps.change(worker.name, (now) => recordWithStatus(now, "failed", reason, deps.clock()));
}

/**
 * Returns with which status and reason the worker ended. Whatever its final message says, a worker counts as
 * completed only if all stories are completed and its last commit was imported.
 */
function judge(record: ContainerRecord, end: AdapterConversationEnd, runtime: string): WorkerVerdict {
  switch (end.kind) {
    case "completion": {
      const { status, head } = end.message.payload;
      if (status === "stopped")
        return { status, reason: { code: "INTERRUPTED", message: "the owner asked the worker to stop" } };
      if (status === "failed") return { status, reason: failureOf(record) };
      const isWhole = record.stories.every((story) => story.status === "completed");
      const isHere = head === record.baseCommit || head === record.collected?.commit;
      if (isWhole && isHere) return { status, reason: null };
      const message = isWhole
        ? "the worker's last commit is not the commit that was collected"
        : "the worker reported `completed`, but not all stories are completed";
      return { status: "failed", reason: { code: "ACP_PROTOCOL_VIOLATION", message } };
    }
    case "error":
      // An error without a sequence number only rejects this owner's request: the adapter already works on an
      // earlier request.
      if (end.message.seq === undefined) return { status: "stopped", reason: end.message.payload };
      return { status: "failed", reason: end.message.payload };
    case "violation":
    case "lost":
      return { status: "failed", reason: end.reason };
    case "exited": {
      const { exitCode, memoryExhausted: oomKilled, processes } = end;
      const container = { exitCode, oomKilled, processes, runtime };
      const judged = judgeEndedAttempt(container, { completion: null, error: null });
      return { status: judged.status === "failed" ? "failed" : "stopped", reason: judged.reason };
    }
    case "gone":
      return {
        status: "stopped",
        reason: {
          code: "INTERRUPTED",
          message: "the worker's container was removed by a program other than swarm",
        },
      };
  }
}

function failureOf({ stories }: ContainerRecord): Reason {
  const failed = stories.filter(({ status }) => status === "failed");
  const [first] = failed;
  if (!first?.reason)
    return { code: "UNKNOWN_ERROR", message: "the worker failed, but none of its stories failed" };
  const more = failed.length > 1 ? ` (and ${failed.length - 1} more failed stories)` : "";
  return { code: first.reason.code, message: `${first.id}: ${first.reason.message}${more}` };
}

async function recordOf(deps: SwarmOwnerDeps, { name }: Worker): Promise<ContainerRecord> {
  return requireRecord(await deps.read(), name);
}
