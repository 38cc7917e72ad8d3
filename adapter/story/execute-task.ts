import type { Completion } from "../../src/contract/acp.ts";
import type { StoryStatus } from "../../src/contract/swarm-state.ts";
import { readyStories, storiesToSkip } from "../../src/tasks/rules/story-graph.ts";
import { truncateText } from "../../src/text/truncate-text.ts";
import type { EarlierAdapterRunResults } from "../journal/earlier-runs.ts";
import { FatalWorkerError, TaskLimitReached } from "../machine/fatal-worker-error.ts";
import type { SandboxPaths } from "../machine/sandbox-paths.ts";
import { GitFailure } from "../workspace/git.ts";
import { storeBundle } from "../workspace/store-bundle.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { executeStory } from "./execute-story.ts";
import type { LastGoodCommit, StoryExecutionDeps } from "./story-execution.ts";

export interface TaskExecutionDeps extends StoryExecutionDeps {
  readonly history: EarlierAdapterRunResults;
  /** Called with the story's ID when a story starts, and with null when the story ends. */
  readonly onStory: (storyId: string | null) => void;
}

type CompletionPayload = Completion["payload"];

/**
 * Runs the task's unfinished stories one after another. If the task is cancelled, throws the abort reason of
 * `signal`.
 */
export async function executeTask(deps: TaskExecutionDeps, signal: AbortSignal): Promise<CompletionPayload> {
  const { task, history, workspace, appendToJournal, onStory } = deps;
  const { userStories: stories } = task.taskFile;
  const statusById = new Map<string, StoryStatus>(stories.map(({ id }) => [id, "pending"]));
  const commitById = new Map(history.commitById);
  for (const { storyId, commit } of task.request.done ?? []) {
    statusById.set(storyId, "completed");
    commitById.set(storyId, commit);
  }
  for (const [storyId, status] of history.statusById)
    if (status !== "in_progress") statusById.set(storyId, status);
  let lastGood: LastGoodCommit = {
    commit: history.lastCheckpoint?.commit ?? workspace.spec.base,
    bundle: history.lastBundle,
  };
  const errors: string[] = [];

  for (;;) {
    for (const [storyId, blamed] of storiesToSkip(stories, statusById)) {
      statusById.set(storyId, "skipped");
      const message = `the story depends on ${blamed}, which was not completed`;
      await appendToJournal({
        type: "progress-update",
        payload: {
          storyId,
          status: "skipped",
          output: message,
          reason: { code: "DEPENDENCY_FAILED", message },
        },
      });
    }
    // Starts with a story that an earlier run began and did not finish: its changes are in the workspace.
    const ready = readyStories(stories, statusById);
    const story = ready.find(({ id }) => history.statusById.get(id) === "in_progress") ?? ready[0];
    if (!story) break;
    const { reason } = signal;
    if (reason instanceof TaskLimitReached && reason.leaves === "nothing")
      throw new FatalWorkerError(reason.code, reason.message);
    if (reason instanceof TaskLimitReached) {
      errors.push(`${reason.code}: ${reason.message}`);
      break;
    }
    signal.throwIfAborted();

    const isResumed = history.statusById.get(story.id) === "in_progress";
    const startCommit = history.startCommitById.get(story.id) ?? lastGood.commit;
    const earlier = stories
      .filter(({ id }) => statusById.get(id) === "completed")
      .map(({ id, title }) => ({ id, title, commit: commitById.get(id) ?? null }));
    statusById.set(story.id, "in_progress");
    onStory(story.id);
    const begun = isResumed
      ? { output: "the agent continues the story" }
      : { output: "the agent starts the story", tree: await startTree(deps, lastGood) };
    await appendToJournal({
      type: "progress-update",
      payload: { storyId: story.id, status: "in_progress", ...begun, from: startCommit },
    });
    const end = await executeStory(deps, { story, startCommit, lastGood, isResumed, earlier }, signal);
    onStory(null);
    statusById.set(story.id, end.kind);
    if (end.kind === "completed") {
      lastGood = end.lastGood;
      commitById.set(story.id, end.commit);
      continue;
    }
    errors.push(`${story.id}: ${end.code}: ${end.message}`);
    if (signal.reason instanceof TaskLimitReached && signal.reason.leaves === "result") break;
    if (end.scope === "worker") throw new FatalWorkerError(end.code, `${story.id}: ${end.message}`);
  }

  const isComplete = stories.every(({ id }) => statusById.get(id) === "completed");
  return {
    ...(await bundleTaskCommits(deps.sandbox.paths, workspace)),
    status: isComplete ? "completed" : "failed",
    errors: errors.slice(0, 50).map((error) => truncateText(error, 500)),
  };
}

/**
 * Checks out the last good commit before a story begins, and returns the commit's git tree. Rebuilds the
 * repository if git cannot check out the commit.
 */
async function startTree({ workspace, rebuild }: TaskExecutionDeps, good: LastGoodCommit): Promise<string> {
  try {
    return await workspace.checkOut(good.commit);
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
  }
  await rebuild(good);
  return workspace.checkOut(good.commit);
}

/**
 * Stores all commits of the task in one git bundle. Returns the description of the bundle for the completion
 * message to the host.
 */
export async function bundleTaskCommits(
  paths: SandboxPaths,
  workspace: Workspace,
): Promise<Pick<CompletionPayload, "prUrl" | "head" | "bundle" | "sha256">> {
  const head = await workspace.tip();
  if (head === workspace.spec.base) return { prUrl: null, head, bundle: null, sha256: null };
  const { bundle, sha256 } = await storeBundle(paths, workspace, "work.bundle", workspace.ref);
  return { prUrl: null, head, bundle, sha256 };
}
