import {
  continuePrompt,
  repairPrompt,
  reworkPrompt,
  storyPrompt,
} from "../../src/tasks/rules/story-prompt.ts";
import type { AgentTurn } from "../agents/agent.ts";
import type { FailedCheck } from "./run-checks.ts";
import type { StoryToRun, TaskToExecute } from "./story-execution.ts";

/** Builds each turn of a story, including the turn's prompt for the agent. */
export interface StoryTurnBuilder {
  first(): AgentTurn;
  /** Returns a turn that continues the story, after the agent has failed or the adapter has restarted. */
  resume(): AgentTurn;
  repair(failed: FailedCheck): AgentTurn;
}

export function createStoryTurnBuilder(
  { request, taskFile }: TaskToExecute,
  { story, earlier }: StoryToRun,
  checks: readonly string[],
): StoryTurnBuilder {
  const taskTitle = taskFile.metadata.title;
  const evidence = request.evidence?.storyId === story.id ? reworkPrompt(request.evidence) : null;
  const plain = storyPrompt({ taskTitle, story, earlier, checks }, request.prompt);
  const fullPrompt = evidence === null ? plain : `${plain}\n\n${evidence}`;
  const common = { storyId: story.id, agent: request.agent ?? { kind: "claude" } };
  // `promptAfresh` repeats the whole story for an agent that has lost the conversation or never stores one.
  const later = (prompt: string): AgentTurn => ({
    ...common,
    prompt,
    continues: true,
    promptForNewConversation: `${fullPrompt}\n\n${prompt}`,
  });
  return {
    first: () =>
      evidence !== null && request.evidence?.isKept
        ? { ...common, prompt: evidence, continues: true, promptForNewConversation: fullPrompt }
        : { ...common, prompt: fullPrompt, continues: false },
    resume: () => later(continuePrompt(story.id)),
    repair: (failed) => later(repairPrompt({ storyId: story.id, ...failed })),
  };
}
