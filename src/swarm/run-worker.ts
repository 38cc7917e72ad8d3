import type { AdapterMessage } from "../domain/acp-messages.ts";
import { isTerminal } from "../domain/container-status.ts";
import type { ContainerRecord, Reason } from "../domain/generated/swarm-state.ts";
import { judgeEnded } from "../domain/reconcile.ts";
import { findContainer, movedTo } from "../domain/swarm-state.ts";
import { withMessage } from "../domain/worker-record.ts";
import type { Conversation, ConversationEnd } from "../ports/conversations.ts";
import type { StoryStart } from "../ports/work-repository.ts";
import { collectWork, publishWork, type StoredWork } from "./collect-work.ts";
import { removeWorker, standUpWorker, stopWorker } from "./stand-up-worker.ts";
import type { SwarmDeps, Worker } from "./swarm-deps.ts";
import { unpauseWorker } from "./unpause-worker.ts";
import { type Patience, type Verdict, withProof } from "./with-proof.ts";

/** How a worker's run is to be ended before its time. */
export interface Halt {
  readonly reason: string;
  /** How long agents may take to come to an end of their own. */
  readonly graceMs: number;
}

/** What the owner holds of a worker that runs. */
export interface WorkerControl {
  /** Aborted with a `Halt`: the agent is asked to stop, and the worker can go on later. */
  readonly halt: AbortSignal;
  /** Aborted when nothing is waited for any more, a proof neither. */
  readonly stopNow: AbortSignal;
  /** Told of the conversation while there is one. */
  readonly onTalk: (conversation: Conversation | null) => void;
}

/** So many messages may wait to be written down. */
const mostUnwritten = 1_000;

/**
 * Carries one worker from wherever it stands to its end: container, conversation, collection. Whatever was cut off before is
 * gone on with.
 */
export async function runWorker(
  deps: SwarmDeps,
  worker: Worker,
  { halt, stopNow, onTalk }: WorkerControl,
): Promise<void> {
  const stoodUp = await standUpWorker(deps, worker, halt);
  if (stoodUp === null) return endUnbegun(deps, worker);
  const { containerId, pausedMs } = stoodUp;
  const storedBy = storedWork();
  const late = await catchUp(deps, worker, { containerId, storedBy });
  if (late !== null)
    return settle(
      deps,
      worker,
      { end: { kind: "violation", reason: late }, isAllHere: false },
      { halt, stopNow },
    );
  const { slug, task, request } = worker;
  const doneIds = (request.done ?? []).map(({ storyId }) => storyId);
  await using conversation = await deps.places.talk(
    {
      ...{ containerId, slug, request, attempt: (await recordOf(deps, worker)).attempt },
      storyIds: task.taskFile.userStories.map(({ id }) => id),
      doneIds,
      environment: () => deps.doors.environment(worker),
    },
    deps.signal,
  );
  // Whatever keeps it from that, an engine that is away or a state that cannot be written, is met by those who listen, too.
  const cancel = (): void => void askToStop().catch(() => {});
  if (halt.aborted) cancel();
  else halt.addEventListener("abort", cancel, { once: true });
  if (pausedMs > 0) await conversation.resumed(pausedMs);
  onTalk(conversation);
  try {
    await settle(deps, worker, await listen(deps, worker, conversation, { containerId, storedBy }), {
      halt,
      stopNow,
    });
  } finally {
    onTalk(null);
    halt.removeEventListener("abort", cancel);
  }

  /** Whoever is paused would not hear of it. */
  async function askToStop(): Promise<void> {
    await conversation.cancel(halt.reason as Halt);
    await unpauseWorker(deps, await recordOf(deps, worker), (ms) => conversation.resumed(ms));
  }
}

/** Whoever was here before may have been cut off between hearing something and acting on it. */
async function catchUp(
  deps: SwarmDeps,
  worker: Worker,
  { containerId, storedBy }: ToCollect,
): Promise<Reason | null> {
  const record = await recordOf(deps, worker);
  let known = record;
  let newest: Stored | null = null;
  const unfinished: Stored[] = [];
  for await (const message of deps.places.told({ slug: worker.slug, attempt: record.attempt })) {
    known = withMessage(known, message, deps.clock());
    const stored = storedBy(message);
    if (stored === null) continue;
    if (stored.failedStory === null) newest = stored;
    else unfinished.push(stored);
  }
  const { stories, storyProgress, usage, lastSeq } = known;
  if (lastSeq !== record.lastSeq)
    await deps.change(worker.name, (now) => ({ ...now, stories, storyProgress, usage, lastSeq }));
  for (const stored of unfinished) {
    const failure = await collectWork(deps, worker, { ...stored, containerId });
    if (failure !== null) return failure;
  }
  return newest === null || newest.commit === record.collected?.commit
    ? null
    : collectWork(deps, worker, { ...newest, containerId });
}

interface Heard {
  readonly end: ConversationEnd;
  /** Whether everything that was stored was brought in. */
  readonly isAllHere: boolean;
}

/** Takes in what is said until the end. What was stored is collected while its container runs. */
async function listen(
  deps: SwarmDeps,
  worker: Worker,
  conversation: Conversation,
  { containerId, storedBy }: ToCollect,
): Promise<Heard> {
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
  /** What is no news of a story is written with that of all others. */
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
      deps.tell({ event: "line", worker: worker.slug, status: event.status, why: event.why });
    if (event.kind !== "message") continue;
    const { message } = event;
    deps.onMessage(worker, message);
    unwritten.push((record) => withMessage(record, message, deps.clock()));
    if (message.type === "progress-update" && message.payload.status === "in_progress")
      deps.passes("mid-run");
    if (message.type === "progress-update" || unwritten.length > mostUnwritten) await write();
    else writeSoon();
    const stored = storedBy(message);
    if (stored === null || failure !== null) continue;
    deps.passes("after-checkpoint-before-collect");
    failure = await collectWork(deps, worker, { ...stored, containerId });
    // What cannot be brought in is no work: the agent need not go on with it.
    if (failure !== null) await conversation.cancel({ reason: failure.code, graceMs: 0 });
  }
  throw new Error("A conversation ended without saying so");
}

type Stored = Omit<StoredWork, "containerId">;

interface ToCollect {
  readonly containerId: string;
  readonly storedBy: (message: AdapterMessage) => Stored | null;
}

/** What a message says was stored, with what its story began with: an earlier message of the same journal said that. */
function storedWork(): ToCollect["storedBy"] {
  const startById = new Map<string, StoryStart>();
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

/** Writes down how it ended, once everything that counts is here. */
async function settle(
  deps: SwarmDeps,
  worker: Worker,
  { end, isAllHere }: Heard,
  patience: Patience,
): Promise<void> {
  await deps.doors.settled(worker);
  const record = await recordOf(deps, worker);
  const shut = shutReason(deps, worker);
  const judged = withShut(judge(record, end, deps.runtime), shut);
  deps.passes("after-completion-before-record");
  const verdict = judged.status === "completed" ? await withProof(deps, worker, judged, patience) : judged;
  deps.tell({ event: "ended", worker: worker.slug, ...verdict });
  if (verdict.status === "completed") await publishWork(deps, worker);
  // Before the record: whoever is cut off in between does both once more, and nobody does it all again.
  if (verdict.status !== "stopped") await deps.remember(worker, verdict.status);
  await deps.change(worker.name, (now) => ({
    ...movedTo(now, verdict.status, verdict.reason, deps.clock()),
    ...{
      reason: verdict.reason,
      acpPid: null,
      exitCode: end.kind === "exited" ? end.exitCode : end.kind === "gone" ? null : now.exitCode,
    },
  }));
  if (verdict.status === "stopped") return deps.doors.close(worker, { isGone: false });
  // Where its own last word is missing or doubted, the volume may have what is nowhere else.
  const isTold =
    end.kind === "error" ||
    (end.kind === "completion" && (shut !== null || end.message.payload.status === judged.status));
  if (!isAllHere || !isTold) return stopWorker(deps, worker);
  // Where results are proved, one may go back to its agent.
  const withHome = verdict.status === "completed" && deps.prove === null;
  await removeWorker(deps, worker, { withHome, halt: patience.halt });
}

/** Why its way out is shut for good; null while it is not. */
function shutReason({ doors }: SwarmDeps, { slug }: Worker): Reason | null {
  const shut = doors.shut(slug);
  return shut.aborted ? (shut.reason as Reason) : null;
}

/** An agent that is not let out any more says all kinds of things; this is why. */
function withShut(verdict: Verdict, reason: Reason | null): Verdict {
  return reason === null || verdict.status === "completed" ? verdict : { status: "failed", reason };
}

/** One that may go no further has come to its end, even where it has not begun. */
async function endUnbegun(deps: SwarmDeps, worker: Worker): Promise<void> {
  const reason = shutReason(deps, worker);
  const { status } = await recordOf(deps, worker);
  if (reason === null || isTerminal(status)) return;
  deps.tell({ event: "ended", worker: worker.slug, status: "failed", reason });
  await deps.change(worker.name, (now) => movedTo(now, "failed", reason, deps.clock()));
}

/** A worker's word is a claim: completed is what has every story completed and its work here. */
function judge(record: ContainerRecord, end: ConversationEnd, runtime: string): Verdict {
  switch (end.kind) {
    case "completion": {
      const { status, head } = end.message.payload;
      if (status === "stopped")
        return { status, reason: { code: "INTERRUPTED", message: "it was asked to stop" } };
      if (status === "failed") return { status, reason: failureOf(record) };
      const isWhole = record.stories.every((story) => story.status === "completed");
      const isHere = head === record.baseCommit || head === record.collected?.commit;
      if (isWhole && isHere) return { status, reason: null };
      const message = isWhole
        ? "its last commit is not the one that was brought in"
        : "it says completed, and not every story is";
      return { status: "failed", reason: { code: "ACP_PROTOCOL_VIOLATION", message } };
    }
    case "error":
      // It answers our question, and whatever it was asked before goes on.
      if (end.message.seq === undefined) return { status: "stopped", reason: end.message.payload };
      return { status: "failed", reason: end.message.payload };
    case "violation":
    case "lost":
      return { status: "failed", reason: end.reason };
    case "exited": {
      const { exitCode, memoryExhausted: oomKilled, processes } = end;
      const container = { exitCode, oomKilled, processes, runtime };
      const judged = judgeEnded(container, { completion: null, error: null });
      return { status: judged.status === "failed" ? "failed" : "stopped", reason: judged.reason };
    }
    case "gone":
      return {
        status: "stopped",
        reason: { code: "INTERRUPTED", message: "its container was removed by somebody else" },
      };
  }
}

function failureOf({ stories }: ContainerRecord): Reason {
  const failed = stories.filter(({ status }) => status === "failed");
  const [first] = failed;
  if (!first?.reason) return { code: "UNKNOWN_ERROR", message: "it failed without a failed story" };
  const more = failed.length > 1 ? ` (and ${failed.length - 1} more)` : "";
  return { code: first.reason.code, message: `${first.id}: ${first.reason.message}${more}` };
}

async function recordOf(deps: SwarmDeps, { name }: Worker): Promise<ContainerRecord> {
  return findContainer(await deps.read(), name);
}
