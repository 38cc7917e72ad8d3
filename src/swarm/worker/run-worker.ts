import type { ContainerRecord, Reason } from "../../contract/swarm-state.ts";
import type { StoryStartCommit } from "../../git/work-repository-port.ts";
import type { AdapterConversation } from "../../protocol/adapter-conversation.ts";
import type { AdapterMessage } from "../../protocol/rules/protocol-messages.ts";
import { recordWithMessage } from "../../state/rules/worker-record.ts";
import { onAbort } from "../../text/on-abort.ts";
import { ensureContainerRuns } from "./ensure-container.ts";
import { type BundleStoredByAdapter, importCommitsFromAdapter } from "./import-commits.ts";
import type { OwnerServices } from "./owner-services.ts";
import { unpauseWorker } from "./pause-worker.ts";
import { type ConversationResult, failUnstartedWorker, settleWorker } from "./settle-worker.ts";
import type { ProofSignals } from "./verdict-by-proof.ts";
import type { HaltRequest, Worker } from "./worker.ts";

/**
 * The signals and the callback with which the owner controls a running worker. After `halt`, the worker's
 * agent is asked to stop, and a later resume can continue the worker. After `stopNow`, the worker stops
 * without waiting for the check of its result.
 */
export interface WorkerControl extends ProofSignals {
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
export async function runWorker(deps: OwnerServices, worker: Worker, control: WorkerControl): Promise<void> {
  const { store, channel, networkAccess } = deps;
  const { halt, onConversation } = control;
  const container = await ensureContainerRuns(deps, worker, halt);
  if (container === null) return failUnstartedWorker(deps, worker);
  const { containerId, pausedMs } = container;
  const toCollect = { containerId, storedBy: storedWork() };
  const reason = await replayJournal(deps, worker, toCollect);
  if (reason !== null)
    return settleWorker(deps, worker, { end: { kind: "violation", reason }, isAllHere: false }, control);
  const { slug, task, request } = worker;
  await using conversation = await channel.connect(
    {
      containerId,
      slug,
      request,
      attempt: (await store.record(worker.name)).attempt,
      storyIds: task.taskFile.userStories.map(({ id }) => id),
      completedStoryIds: (request.done ?? []).map(({ storyId }) => storyId),
      environment: () => networkAccess.environment(worker),
    },
    deps.time.signal,
  );
  // Ignores errors, such as an unreachable engine or an unwritable state, because `runConversation` meets and
  // throws the same errors.
  using _halting = onAbort(halt, () => void askToStop().catch(() => {}));
  if (pausedMs > 0) await conversation.resumed(pausedMs);
  onConversation(conversation);
  try {
    await settleWorker(deps, worker, await runConversation(deps, worker, conversation, toCollect), control);
  } finally {
    onConversation(null);
  }

  /**
   * Asks the adapter to stop the agent, and then unpauses the worker, because a paused adapter receives no
   * messages.
   */
  async function askToStop(): Promise<void> {
    await conversation.cancel(halt.reason as HaltRequest);
    await unpauseWorker(deps, await store.record(worker.name), (ms) => conversation.resumed(ms));
  }
}

/**
 * Makes up for a crash of the previous owner: updates the worker's record from the messages in the host's
 * journal, and imports work that the adapter stored. Returns why an import failed, or null if none failed.
 */
async function replayJournal(
  deps: OwnerServices,
  worker: Worker,
  { containerId, storedBy }: ToCollect,
): Promise<Reason | null> {
  const record = await deps.store.record(worker.name);
  let known = record;
  let newest: Stored | null = null;
  const toImport: Stored[] = [];
  for await (const message of deps.channel.readJournal({ slug: worker.slug, attempt: record.attempt })) {
    known = recordWithMessage(known, message, deps.time.clock());
    const stored = storedBy(message);
    if (stored === null) continue;
    if (stored.failedStory === null) newest = stored;
    else toImport.push(stored);
  }
  const { stories, storyProgress, usage, lastSeq } = known;
  if (lastSeq !== record.lastSeq)
    await deps.store.change(worker.name, (now) => ({ ...now, stories, storyProgress, usage, lastSeq }));
  if (newest !== null && newest.commit !== record.collected?.commit) toImport.push(newest);
  for (const stored of toImport) {
    const failure = await importCommitsFromAdapter(deps, worker, { ...stored, containerId });
    if (failure !== null) return failure;
  }
  return null;
}

/**
 * Processes the messages that the adapter sends to the owner, until the connection ends. Imports stored git
 * bundles while the container runs.
 */
async function runConversation(
  deps: OwnerServices,
  worker: Worker,
  conversation: AdapterConversation,
  { containerId, storedBy }: ToCollect,
): Promise<ConversationResult> {
  const { store, events } = deps;
  const { clock, crashPoint } = deps.time;
  let failure: Reason | null = null;
  let unwritten: ((record: ContainerRecord) => ContainerRecord)[] = [];
  let isDue = false;
  const broken = new AbortController();
  const withUnwritten = (record: ContainerRecord): ContainerRecord => {
    const changes = unwritten;
    unwritten = [];
    return changes.reduce((changed, change) => change(changed), record);
  };
  const write = (): Promise<void> => store.change(worker.name, withUnwritten);
  /**
   * Writes the waiting changes of the worker's record after a short delay, in one batch with the changes of
   * other workers. Messages about the progress of a story do not use it: they are written at once.
   */
  const writeSoon = (): void => {
    if (isDue) return;
    isDue = true;
    store.changeSoon(worker.name, withUnwritten).then(
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
      events.emit({ event: "line", worker: worker.slug, status: event.status, why: event.why });
    if (event.kind !== "message") continue;
    const { message } = event;
    events.onMessage(worker, message);
    unwritten.push((record) => recordWithMessage(record, message, clock()));
    const isProgress = message.type === "progress-update";
    if (isProgress && message.payload.status === "in_progress") crashPoint("mid-run");
    if (isProgress || unwritten.length > maxUnwritten) await write();
    else writeSoon();
    const stored = storedBy(message);
    if (stored === null || failure !== null) continue;
    crashPoint("after-checkpoint-before-collect");
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
