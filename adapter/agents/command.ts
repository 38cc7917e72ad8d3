import type { RequestedAgent } from "../../src/domain/generated/acp.ts";
import type { Agent, AgentTools, Turn, TurnEnd } from "./agent.ts";

/** Any program: the prompt on its input and in a file, its exit code decides. */
export const command: Agent = {
  kind: "command",
  needsOneOf: [],
  versionFlags: [],
  program: (agent) => commandOf(agent)[0] ?? "",
  turn: (turn, tools, signal) => runProgram(commandOf(turn.agent), turn, tools, signal),
};

function commandOf({ command: words }: RequestedAgent): readonly string[] {
  return words ?? [];
}

/** Runs the program to its end; every line that it writes is an activity. */
async function runProgram(
  words: readonly string[],
  { storyId, continues, ...asked }: Turn,
  tools: AgentTools,
  signal: AbortSignal,
): Promise<TurnEnd> {
  // A program remembers nothing: it is told the whole story each time.
  const prompt = asked.promptAfresh ?? asked.prompt;
  const file = `/tmp/aimi-prompt-${storyId}.md`;
  const written = tools.start(["sh", "-c", 'cat > "$1"', "sh", file]);
  await written.write(prompt);
  written.endInput();
  await written.exit;

  const program = tools.start(words, {
    ...{ AIMI_STORY_ID: storyId, AIMI_PROMPT_FILE: file },
    ...(continues ? { AIMI_CONTINUES: "1" } : {}),
  });
  const interrupt = () => program.interrupt();
  signal.addEventListener("abort", interrupt, { once: true });
  if (signal.aborted) interrupt();
  try {
    // Not waited for: one that never reads it may say more than a pipe holds.
    void program.write(prompt);
    program.endInput();
    for await (const line of program.lines) tools.report({ kind: "text", summary: line });
    const code = await program.exit;
    if (code === 0) return { kind: "ended" };
    return {
      ...{ kind: "failed", code: "AGENT_CRASH", scope: "story" },
      message: `${words[0]} ended with exit ${code}${program.complaint ? `: ${program.complaint.trim()}` : ""}`,
    };
  } finally {
    signal.removeEventListener("abort", interrupt);
  }
}
