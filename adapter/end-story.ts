import { cutText } from "../src/domain/fit-message.ts";
import type { StoryProgress } from "../src/domain/generated/acp.ts";
import type { UserStory } from "../src/domain/generated/tasks.ts";
import { endAgentProcesses } from "./agent-user.ts";
import { CannotWork } from "./cannot-work.ts";
import type { Failure, StoryDeps, StoryEnd, StoryStart, Success } from "./carry-out-story.ts";
import { storyMessage, unfinishedMessage } from "./commit-words.ts";
import { storeBundle } from "./exports.ts";
import { GitFailure } from "./git.ts";
import { WorkTooLarge } from "./measure-work.ts";

/** What was checked is what is committed: droppings of the checks do not get in. */
export async function completeStory(
  { places, workspace, say, author, env, swarmId, taskFile, conversationOf }: StoryDeps,
  { story, from }: { readonly story: UserStory; readonly from: string },
  { tree, checks }: Success,
): Promise<StoryEnd> {
  const parent = await workspace.tip();
  if (tree !== (await workspace.treeOf(parent))) {
    const message = storyMessage(story, { swarmId, task: taskFile.metadata.title });
    const commit = await workspace.makeCommit({ tree, parent, message, author });
    await workspace.moveTo(commit);
  } else await workspace.moveTo(parent);
  const good = await workspace.tip();
  const stored =
    good === workspace.base
      ? null
      : await storeBundle(places, workspace, {
          name: `${story.id}.bundle`,
          ref: `refs/heads/${workspace.branch}`,
          env,
        });
  await say({
    type: "checkpoint",
    payload: {
      ...{ storyId: story.id, commit: good },
      ...(stored
        ? { bundle: stored.bundle, bytes: stored.bytes, sha256: stored.sha256 }
        : { bundle: null, bytes: 0, sha256: null }),
    },
  });
  const commit = good === from ? null : good;
  const output = commit === null ? "already true: nothing had to change" : "done and checked";
  const conversation = conversationOf(story.id);
  const progress: StoryProgress = {
    ...{ storyId: story.id, status: "completed", output, commit, checks },
    ...(conversation && { conversation }),
  };
  await say({ type: "progress-update", payload: progress });
  return { kind: "completed", commit, good, goodBundle: stored?.bundle ?? null };
}

/** Keeps what there is where it is in nobody's way, and goes back to the last good commit. */
export async function failStory(
  deps: StoryDeps,
  { story, good }: StoryStart,
  failure: Failure,
): Promise<StoryEnd> {
  const { places, workspace, say, author, env } = deps;
  const { code, scope, checks } = failure;
  const conversation = deps.conversationOf(story.id);
  const message = cutText(failure.message, 1_900);
  await endAgentProcesses();
  await workspace.settle();
  const parent = await workspace.tip();
  const tree = await writeWhatFits(workspace);
  let failedWork: StoryProgress["failedWork"];
  if (parent !== good || tree !== (await workspace.treeOf(parent))) {
    const commit = await workspace.makeCommit({
      tree,
      parent,
      message: unfinishedMessage(story, code),
      author,
    });
    const ref = `refs/aimi/failed/${story.id}`;
    await workspace.point(ref, commit);
    failedWork = await storeBundle(places, workspace, { name: `failed-${story.id}.bundle`, ref, env });
  }
  await workspace.git.run(["update-ref", `refs/heads/${workspace.branch}`, good]);
  await workspace.moveTo(good);
  await say({
    type: "progress-update",
    payload: {
      ...{ storyId: story.id, status: "failed", output: message, reason: { code, message } },
      ...(checks ? { checks } : {}),
      ...(failedWork ? { failedWork } : {}),
      ...(conversation && { conversation }),
    },
  });
  return { kind: "failed", code, message, scope };
}

/** Of what is too large, as much as can be kept; what was committed where nothing can. */
async function writeWhatFits(workspace: StoryDeps["workspace"]): Promise<string> {
  try {
    return await workspace.writeTree();
  } catch (error) {
    if (!(error instanceof WorkTooLarge)) throw error;
    if (error.without.length === 0) return workspace.treeOf(await workspace.tip());
    return workspace.writeTree({ without: error.without });
  }
}

/** There is more than may be committed. It takes time to remove; the next story begins without it. */
export async function failLargeStory(
  deps: StoryDeps,
  start: StoryStart,
  { message, without }: WorkTooLarge,
): Promise<StoryEnd> {
  const { id } = start.story;
  const kept =
    without.length > 0
      ? "All else that the story left is kept"
      : "Of what the story left, its commits are kept";
  const payload = {
    storyId: id,
    kind: "text",
    summary: cutText(`removing what ${id} left: ${message}`, 300),
  } as const;
  await deps.say({ type: "activity", payload });
  return failStory(deps, start, { code: "WORK_TOO_LARGE", message: `${message}. ${kept}.`, scope: "story" });
}

/**
 * git failed. If it can work again, what there is is kept as of any story that fails; if not, there is nothing to keep, and the
 * next story gets a repository that is whole.
 */
export async function failBrokenStory(
  deps: StoryDeps,
  start: StoryStart,
  failure: GitFailure,
): Promise<StoryEnd> {
  const message = cutText(`git cannot work with what the story left: ${failure.message}`, 1_900);
  // No other story would fare better, and what there is may need the room that is left.
  if (/No space left on device/.test(failure.message)) throw new CannotWork("DISK_FULL", message);
  const code = "GIT_CHECKOUT_FAILED";
  try {
    return await failStory(deps, start, { code, message, scope: "story" });
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
  }
  await endAgentProcesses();
  await deps.rebuild({ commit: start.good, bundle: start.goodBundle });
  await deps.say({
    type: "progress-update",
    payload: { storyId: start.story.id, status: "failed", output: message, reason: { code, message } },
  });
  return { kind: "failed", code, message, scope: "story" };
}
