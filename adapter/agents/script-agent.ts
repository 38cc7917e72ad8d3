import type { RequestedAgent } from "../../src/contract/acp.ts";
import type { AgentScript, ScriptSteps } from "../../src/contract/script-agent.ts";
import type { Agent } from "./agent.ts";

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
  async runTurn(turn, tools, signal) {
    const player = tools.start([program, "play"]);
    const interrupt = () => player.interrupt();
    signal.addEventListener("abort", interrupt, { once: true });
    try {
      await player.write(JSON.stringify(stepsFor(turn.agent, turn.storyId, turn.continues)));
      player.endInput();
      for await (const line of player.lines) tools.report({ kind: "text", summary: line });
      const code = await player.exit;
      if (code === 0) return { kind: "ended" };
      return {
        ...{ kind: "failed", code: "AGENT_CRASH", scope: "story" },
        message: `the script exited with code ${code}${player.stderrTail ? `: ${player.stderrTail.trim()}` : ""}`,
      };
    } finally {
      signal.removeEventListener("abort", interrupt);
    }
  },
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
