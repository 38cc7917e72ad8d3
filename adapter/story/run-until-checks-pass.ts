import type { CheckResult } from "../../src/contract/acp.ts";
import type { UserStory } from "../../src/contract/tasks.ts";
import type { AgentTurn } from "../agents/agent.ts";
import { killAgentProcesses } from "../machine/agent-user.ts";
import { type FailedCheck, runChecks } from "./run-checks.ts";
import type {
  StoryExecutionDeps,
  StoryFailure,
  StorySuccess,
  StoryToRun,
  TaskToExecute,
} from "./story-execution.ts";
import { createStoryTurnBuilder } from "./story-turns.ts";

/**
 * The error codes after which another turn may succeed. Other failures, such as a refused API key or a
 * reached limit, would only repeat.
 */
const worthAnotherTry: readonly string[] = ["AGENT_CRASH", "AGENT_STALLED", "CONTAINER_OOM"];

/**
 * Runs the agent on a story and then the story's checks, without making a commit. After a failed check, the
 * agent repairs the work, until the checks pass or a limit on repairs or attempts is reached.
 */
export async function runStoryUntilChecksPass(
  deps: StoryExecutionDeps,
  start: StoryToRun,
  signal: AbortSignal,
): Promise<StorySuccess | StoryFailure> {
  const { workspace, sandbox, task } = deps;
  const { limits } = task;
  const { story, startCommit, isResumed } = start;
  const lastGood = start.lastGood.commit;
  const checks = checksOf(task, story);
  const turns = createStoryTurnBuilder(task, start, checks);
  let turn: AgentTurn | null = isResumed ? turns.resume() : turns.first();
  // If the earlier run crashed after the commit of this story, skips the agent's turn: only the checks are missing.
  if (isResumed && (await isCommittedFor(deps, story, startCommit))) turn = null;

  for (let repairs = 0, attempts = 1; ; ) {
    if (turn !== null) {
      const { pauses } = sandbox.clock;
      const end = await deps.runTurn(turn, signal);
      signal.throwIfAborted();
      if (end.kind === "interrupted")
        throw new Error("The agent's turn was interrupted, but no abort signal was triggered");
      if (end.kind === "failed") {
        const isFree = sandbox.clock.pauses > pauses;
        if (
          !worthAnotherTry.includes(end.code) ||
          end.scope === "worker" ||
          (!isFree && attempts >= limits.attempts)
        )
          return end;
        if (!isFree) attempts += 1;
        turn = turns.resume();
        continue;
      }
    }
    await killAgentProcesses();
    await workspace.restoreBranch();
    if (!(await workspace.isAncestor(lastGood, await workspace.tip())))
      return {
        code: "HISTORY_REWRITTEN",
        scope: "story",
        message: `the agent rewrote the branch: the branch no longer contains the last good commit ${lastGood.slice(0, 10)}`,
      };
    const tree = await workspace.writeTree();
    await deps.snapshot(story.id);
    const isChanged =
      tree !== (await workspace.treeOf(startCommit)) || (await workspace.tip()) !== startCommit;
    if (!isChanged && checks.length === 0 && story.mayBeEmpty !== true)
      return {
        code: "NOTHING_CHANGED",
        scope: "story",
        message:
          "the agent changed nothing, and the story has no check that could prove that no change was needed",
      };
    const { results, failed } = await runChecks(
      sandbox,
      { storyId: story.id, commands: checks, env: workspace.spec.env, limitMs: limits.checkMs },
      signal,
    );
    if (failed === null) return { tree, checks: results };
    if (repairs >= limits.maxRepairs) return checkFailure(failed, results, repairs);
    // Removes the changes that the failed check made to the files, since they are not the agent's work.
    await workspace.restore(tree);
    repairs += 1;
    turn = turns.repair(failed);
  }
}

function checksOf({ request, taskFile }: TaskToExecute, story: UserStory): string[] {
  return [...new Set([...(story.verify ?? []), ...(request.verify ?? taskFile.metadata.verify ?? [])])];
}

async function isCommittedFor(
  { workspace, task }: StoryExecutionDeps,
  { id }: UserStory,
  from: string,
): Promise<boolean> {
  const tip = await workspace.tip();
  if (tip === from) return false;
  const format = "%(trailers:key=Swarm-Id,valueonly)%(trailers:key=Swarm-Story,valueonly)";
  const trailers = await workspace.git.run(["log", "-1", `--format=${format}`, "--end-of-options", tip]);
  return trailers.split("\n").filter(Boolean).join(" ") === `${task.swarmId} ${id}`;
}

const lackCodes = { memory: "CONTAINER_OOM", processes: "PROCESSES_EXHAUSTED" } as const;

function checkFailure(failed: FailedCheck, checks: readonly CheckResult[], repairs: number): StoryFailure {
  const tries = repairs === 0 ? "" : ` after ${repairs} ${repairs === 1 ? "repair" : "repairs"}`;
  return {
    code: failed.lacked === null ? "VERIFY_FAILED" : lackCodes[failed.lacked],
    message: `\`${failed.command}\` failed${tries}: ${failed.result}`,
    scope: "story",
    checks,
  };
}
