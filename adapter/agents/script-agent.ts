import type { RequestedAgent } from "../../src/contract/acp.ts";
import type { AgentScript, ScriptSteps } from "../../src/contract/script-agent.ts";
import type { Agent } from "./agent.ts";
import { runProgramTurn } from "./run-program-turn.ts";

const program = "/opt/aimi/adapter";

/**
 * An agent for demonstrations and tests that executes scripted steps instead of calling a model. Like every
 * agent, its program runs as the sandbox's unprivileged user.
 */
export const scriptAgent: Agent = {
  kind: "script",
  needsOneOf: [],
  versionFlags: [],
  program: () => program,
  // An async function, so that a program that cannot be started is a rejection, as for the other agents.
  runTurn: async (turn, tools, signal) =>
    runProgramTurn(
      {
        name: "the script",
        program: tools.start([program, "play"]),
        input: JSON.stringify(stepsFor(turn.agent, turn.storyId, turn.continues)),
      },
      tools,
      signal,
    ),
};

/**
 * Returns the script's steps for a turn. In a turn that continues a conversation, these are the steps of the
 * last `onRepair`, or the steps of the first turn if the script has no `onRepair`.
 */
function stepsFor({ script: content }: RequestedAgent, storyId: string, continues: boolean): ScriptSteps {
  const steps = ((content ?? {}) as AgentScript)[storyId] ?? [];
  const repair = steps.findLast(({ onRepair }) => onRepair !== undefined)?.onRepair;
  if (continues && repair) return repair;
  return steps.filter(({ onRepair }) => onRepair === undefined);
}
