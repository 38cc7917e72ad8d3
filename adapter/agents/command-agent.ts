import { randomUUID } from "node:crypto";
import { addAbortListener } from "node:events";
import type { Agent, AgentTurn, TurnEnd, TurnSandbox } from "./agent.ts";
import { describeStderr, runProgramTurn } from "./run-program-turn.ts";
import { agentCrash } from "./turn-failure.ts";

/**
 * The kind of agent for any program. The program gets the prompt on its stdin and in a file, and succeeds if
 * it exits with 0.
 */
export const commandAgent: Agent = {
  kind: "command",
  needsOneOf: [],
  versionFlags: [],
  program: ({ command }) => command?.[0] ?? "",
  runTurn: runProgram,
};

/**
 * A shell script that writes the prompt to a file in a new folder with a random name. The name is random
 * because the agent could put a blocking pipe at a known path.
 */
const writePrompt = 'umask 077 && mkdir -- "$1" && cat > "$1/$2"';

/** Runs the program until it ends, and reports every line of its output as an activity. */
async function runProgram(turn: AgentTurn, tools: TurnSandbox, signal: AbortSignal): Promise<TurnEnd> {
  const { storyId } = turn;
  const words = turn.agent.command ?? [];
  // The program remembers no earlier turn, so it gets the whole story each time.
  const prompt = turn.promptForNewConversation ?? turn.prompt;
  const [folder, name] = [`/tmp/aimi-prompt-${randomUUID()}`, `${storyId}.md`];
  const writer = tools.start(["sh", "-c", writePrompt, "sh", folder, name]);
  // Not awaited: the pipe may be full until the writing program reads its input.
  void writer.write(prompt);
  writer.endInput();
  {
    using _listener = addAbortListener(signal, () => void writer.kill());
    if ((await writer.exit) !== 0)
      return agentCrash(`the agent's prompt could not be written to /tmp${describeStderr(writer)}`);
  }

  const program = tools.start(words, {
    AIMI_STORY_ID: storyId,
    AIMI_PROMPT_FILE: `${folder}/${name}`,
    ...(turn.continues && { AIMI_CONTINUES: "1" }),
  });
  return await runProgramTurn({ name: `${words[0]}`, program, input: prompt }, tools, signal);
}
