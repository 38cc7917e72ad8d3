import { addAbortListener } from "node:events";
import type { AgentProgram, TurnEnd, TurnSandbox } from "./agent.ts";
import { agentCrash } from "./turn-failure.ts";

/**
 * Gives a program its whole input and reports each line of its output as an activity, until the program ends.
 * The turn fails if the program does not exit with 0.
 */
export async function runProgramTurn(
  { name, program, input }: { readonly name: string; readonly program: AgentProgram; readonly input: string },
  tools: TurnSandbox,
  signal: AbortSignal,
): Promise<TurnEnd> {
  using _listener = addAbortListener(signal, () => program.interrupt());
  // Not awaited: a program that never reads its input may fill its output pipe, which the loop below must drain.
  void program.write(input);
  program.endInput();
  for await (const line of program.lines) tools.report({ kind: "text", summary: line });
  const code = await program.exit;
  if (code === 0) return { kind: "ended" };
  return agentCrash(`${name} exited with code ${code}${describeStderr(program)}`);
}

/** Returns what a program wrote to stderr, in the form in which it ends a failure's message. */
export const describeStderr = ({ stderrTail }: AgentProgram): string =>
  stderrTail ? `: ${stderrTail.trim()}` : "";
