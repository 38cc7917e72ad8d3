import { randomUUID } from "node:crypto";
import type { RequestedAgent } from "../../src/contract/acp.ts";
import type { Agent, AgentProgram, AgentTurn, TurnEnd, TurnSandbox } from "./agent.ts";

/**
 * The kind of agent for any program. The program gets the prompt on its stdin and in a file, and succeeds if
 * it exits with 0.
 */
export const commandAgent: Agent = {
  kind: "command",
  needsOneOf: [],
  versionFlags: [],
  program: (agent) => commandOf(agent)[0] ?? "",
  runTurn: (turn, tools, signal) => runProgram(commandOf(turn.agent), turn, tools, signal),
};

function commandOf({ command: words }: RequestedAgent): readonly string[] {
  return words ?? [];
}

/**
 * A shell script that writes the prompt to a file in a new folder with a random name. The name is random
 * because the agent could put a blocking pipe at a known path.
 */
const writePrompt = 'umask 077 && mkdir -- "$1" && cat > "$1/$2"';

/** Runs the program until it ends, and reports every line of its output as an activity. */
async function runProgram(
  words: readonly string[],
  { storyId, continues, ...turn }: AgentTurn,
  tools: TurnSandbox,
  signal: AbortSignal,
): Promise<TurnEnd> {
  // The program remembers no earlier turn, so it gets the whole story each time.
  const prompt = turn.promptForNewConversation ?? turn.prompt;
  const [folder, name] = [`/tmp/aimi-prompt-${randomUUID()}`, `${storyId}.md`];
  const writer = tools.start(["sh", "-c", writePrompt, "sh", folder, name]);
  // Not awaited: the pipe may be full until the writing program reads its input.
  void writer.write(prompt);
  writer.endInput();
  const written = await exitOrKill(writer, signal);
  if (written !== 0) return unwritten(writer);

  const program = tools.start(words, {
    ...{ AIMI_STORY_ID: storyId, AIMI_PROMPT_FILE: `${folder}/${name}` },
    ...(continues ? { AIMI_CONTINUES: "1" } : {}),
  });
  const interrupt = () => program.interrupt();
  signal.addEventListener("abort", interrupt, { once: true });
  if (signal.aborted) interrupt();
  try {
    // Not awaited: a program that never reads its input may fill its output pipe, which the loop below must drain.
    void program.write(prompt);
    program.endInput();
    for await (const line of program.lines) tools.report({ kind: "text", summary: line });
    const code = await program.exit;
    if (code === 0) return { kind: "ended" };
    return {
      ...{ kind: "failed", code: "AGENT_CRASH", scope: "story" },
      message: `${words[0]} exited with code ${code}${program.stderrTail ? `: ${program.stderrTail.trim()}` : ""}`,
    };
  } finally {
    signal.removeEventListener("abort", interrupt);
  }
}

/** Resolves with the program's exit code. Kills the program when `signal` aborts. */
async function exitOrKill(program: AgentProgram, signal: AbortSignal): Promise<number> {
  const kill = () => void program.kill();
  signal.addEventListener("abort", kill, { once: true });
  if (signal.aborted) kill();
  try {
    return await program.exit;
  } finally {
    signal.removeEventListener("abort", kill);
  }
}

function unwritten({ stderrTail }: AgentProgram): TurnEnd {
  const message = `the agent's prompt could not be written to /tmp${stderrTail ? `: ${stderrTail.trim()}` : ""}`;
  return { kind: "failed", code: "AGENT_CRASH", scope: "story", message };
}
