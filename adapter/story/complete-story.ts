import type { StoryProgress } from "../../src/contract/acp.ts";
import { truncateText } from "../../src/text/truncate-text.ts";
import { killAgentProcesses } from "../machine/agent-user.ts";
import { FatalWorkerError } from "../machine/fatal-worker-error.ts";
import { ChangedFilesTooLargeError } from "../workspace/changed-files-limits.ts";
import { storyCommitMessage, unfinishedWorkCommitMessage } from "../workspace/commit-messages.ts";
import { GitFailure } from "../workspace/git.ts";
import { storeBundle } from "../workspace/store-bundle.ts";
import type {
  StoryEnd,
  StoryExecutionDeps,
  StoryFailure,
  StorySuccess,
  StoryToRun,
} from "./story-execution.ts";

/**
 * Completes a story. Commits the git tree that the checks tested, without files that the checks created, and
 * stores the commit in a git bundle.
 */
export async function completeStory(
  { sandbox, workspace, task, appendToJournal, conversationOf }: StoryExecutionDeps,
  { story, startCommit }: Pick<StoryToRun, "story" | "startCommit">,
  { tree, checks }: StorySuccess,
): Promise<StoryEnd> {
  const storyId = story.id;
  const parent = await workspace.tip();
  let good = parent;
  if (tree !== (await workspace.treeOf(parent))) {
    const message = storyCommitMessage(story, { swarmId: task.swarmId, task: task.taskFile.metadata.title });
    good = await workspace.makeCommit({ tree, parent, message, author: task.author });
  }
  await workspace.moveTo(good);
  const stored =
    good === workspace.spec.base
      ? { commit: good, bundle: null, bytes: 0, sha256: null }
      : await storeBundle(sandbox.paths, workspace, `${storyId}.bundle`, workspace.ref);
  await appendToJournal({ type: "checkpoint", payload: { storyId, ...stored } });
  const commit = good === startCommit ? null : good;
  const done = checks.length > 0 ? "done and checked" : "done; the story has no check";
  const output = commit === null ? "the requirement was already met: nothing had to change" : done;
  const conversation = conversationOf(storyId);
  await appendToJournal({
    type: "progress-update",
    payload: { storyId, status: "completed", output, commit, checks, ...(conversation && { conversation }) },
  });
  return { kind: "completed", commit, lastGood: { commit: good, bundle: stored.bundle } };
}

/**
 * Fails a story. Stores its unfinished work under a git ref and in a git bundle of its own, and resets the
 * task's branch to the last good commit.
 */
export async function failStory(
  deps: StoryExecutionDeps,
  { story, lastGood }: Pick<StoryToRun, "story" | "lastGood">,
  failure: StoryFailure,
): Promise<StoryEnd> {
  const { workspace } = deps;
  const { code, scope, checks } = failure;
  const conversation = deps.conversationOf(story.id);
  const message = truncateText(failure.message, 1_900);
  await killAgentProcesses();
  await workspace.restoreBranch();
  const parent = await workspace.tip();
  const tree = await writeWhatFits(workspace);
  let failedWork: StoryProgress["failedWork"];
  if (parent !== lastGood.commit || tree !== (await workspace.treeOf(parent))) {
    const commit = await workspace.makeCommit({
      tree,
      parent,
      message: unfinishedWorkCommitMessage(story, code),
      author: deps.task.author,
    });
    const ref = `refs/aimi/failed/${story.id}`;
    await workspace.setRef(ref, commit);
    failedWork = await storeBundle(deps.sandbox.paths, workspace, `failed-${story.id}.bundle`, ref);
  }
  await workspace.setRef(workspace.ref, lastGood.commit);
  await workspace.moveTo(lastGood.commit);
  await deps.appendToJournal({
    type: "progress-update",
    payload: {
      storyId: story.id,
      status: "failed",
      output: message,
      reason: { code, message },
      ...(checks && { checks }),
      ...(failedWork && { failedWork }),
      ...(conversation && { conversation }),
    },
  });
  return { kind: "failed", code, message, scope };
}

/**
 * Writes a git tree of the work folder, but leaves out files that are too large. Returns the last commit's
 * tree if the remaining files still exceed a limit of the task.
 */
async function writeWhatFits(workspace: StoryExecutionDeps["workspace"]): Promise<string> {
  try {
    return await workspace.writeTree();
  } catch (error) {
    if (!(error instanceof ChangedFilesTooLargeError)) throw error;
    if (error.pathsToLeaveOut.length === 0) return workspace.treeOf(await workspace.tip());
    return workspace.writeTree({ without: error.pathsToLeaveOut });
  }
}

/**
 * Fails a story whose files exceed the task's size limits. Reports the reset of the work folder before the
 * reset starts, because it takes time.
 */
export async function failOversizedStory(
  deps: StoryExecutionDeps,
  start: StoryToRun,
  { message, pathsToLeaveOut }: ChangedFilesTooLargeError,
): Promise<StoryEnd> {
  const { id } = start.story;
  const kept =
    pathsToLeaveOut.length > 0
      ? "swarm keeps all other changes of the story"
      : "swarm keeps the story's commits, and discards its uncommitted changes";
  const payload = {
    storyId: id,
    kind: "text",
    summary: truncateText(`resetting the work folder after the story ${id}: ${message}`, 300),
  } as const;
  await deps.appendToJournal({ type: "activity", payload });
  return failStory(deps, start, { code: "WORK_TOO_LARGE", message: `${message}. ${kept}.`, scope: "story" });
}

/**
 * Fails a story because a git command failed. If git works again, stores the unfinished work; otherwise
 * discards it and rebuilds the repository for the next story.
 */
export async function failStoryAfterGitFailure(
  deps: StoryExecutionDeps,
  start: StoryToRun,
  failure: GitFailure,
): Promise<StoryEnd> {
  const message = truncateText(
    `git could not process the story's files in the work folder: ${failure.message}`,
    1_900,
  );
  // Stops the whole task: a full disk fails every other story, too, and the completed work may need the space that is
  // left.
  if (/No space left on device/.test(failure.message)) throw new FatalWorkerError("DISK_FULL", message);
  const code = "GIT_CHECKOUT_FAILED";
  try {
    return await failStory(deps, start, { code, message, scope: "story" });
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
  }
  await killAgentProcesses();
  await deps.rebuild(start.lastGood);
  await deps.appendToJournal({
    type: "progress-update",
    payload: { storyId: start.story.id, status: "failed", output: message, reason: { code, message } },
  });
  return { kind: "failed", code, message, scope: "story" };
}
