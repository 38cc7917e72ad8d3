import { formatDuration } from "../../src/text/duration-and-size.ts";
import { TaskLimitReached } from "../machine/fatal-worker-error.ts";
import { ProgramResultUnknownError } from "../machine/program-end.ts";
import { ChangedFilesTooLargeError } from "../workspace/changed-files-limits.ts";
import { GitFailure } from "../workspace/git.ts";
import { completeStory, failOversizedStory, failStory, failStoryAfterGitFailure } from "./complete-story.ts";
import { runStoryUntilChecksPass } from "./run-until-checks-pass.ts";
import type {
  StoryEnd,
  StoryExecutionDeps,
  StoryFailure,
  StorySuccess,
  StoryToRun,
} from "./story-execution.ts";

/**
 * Runs one story until its checks pass. If the story fails, resets the task's branch and returns the reason;
 * if the task is cancelled, throws the abort reason of `signal`.
 */
export async function executeStory(
  deps: StoryExecutionDeps,
  start: StoryToRun,
  signal: AbortSignal,
): Promise<StoryEnd> {
  try {
    const outcome = await tryInTime(deps, start, signal);
    return "code" in outcome
      ? await failStory(deps, start, outcome)
      : await completeStory(deps, start, outcome);
  } catch (error) {
    if (error instanceof ProgramResultUnknownError && error.isOutOfMemory)
      return failStory(deps, start, { code: "CONTAINER_OOM", message: error.message, scope: "story" });
    if (error instanceof ChangedFilesTooLargeError) return failOversizedStory(deps, start, error);
    if (error instanceof GitFailure) return failStoryAfterGitFailure(deps, start, error);
    throw error;
  }
}

/**
 * Runs a story within its time limit, and returns a failure if the story or the task reaches a limit. Throws
 * if the task is cancelled, so that the adapter can resume the story later.
 */
async function tryInTime(
  deps: StoryExecutionDeps,
  start: StoryToRun,
  signal: AbortSignal,
): Promise<StorySuccess | StoryFailure> {
  const { storyMs } = deps.task.limits;
  using limit = deps.sandbox.clock.after(storyMs);
  try {
    return await runStoryUntilChecksPass(deps, start, AbortSignal.any([signal, limit.signal]));
  } catch (error) {
    const { reason } = signal;
    if (reason instanceof TaskLimitReached)
      return { code: reason.code, message: reason.message, scope: "worker" };
    if (signal.aborted || !limit.signal.aborted) throw error;
    const message = `the story reached its time limit of ${formatDuration(storyMs)}`;
    return { code: "AGENT_LIMIT_REACHED", message, scope: "story" };
  }
}
