import type { Command } from "./command.ts";
import { agentFlag } from "./setting-flags.ts";

/**
 * The command line in two parts: swarm's own arguments, and the program that acts as the agent, with its
 * arguments.
 */
export interface SplitCommandLine {
  readonly swarmWords: readonly string[];
  readonly program: readonly string[];
}

/**
 * Splits the agent's program from the command line, as in `… --agent command -- sh agent.sh`. Without
 * `--agent`, the command line contains no such program, and `--` only marks the end of the flags.
 */
export function splitCommandLine(words: readonly string[], commands: readonly Command[]): SplitCommandLine {
  const at = words.indexOf("--");
  const swarmWords = at < 0 ? words : words.slice(0, at);
  const namesAgent = swarmWords.some((word) => word === "--agent" || word.startsWith("--agent="));
  if (at < 0 || !namesAgent || !takesProgram(swarmWords, commands)) return { swarmWords: words, program: [] };
  return { swarmWords, program: words.slice(at + 1) };
}

function takesProgram([first, ...rest]: readonly string[], commands: readonly Command[]): boolean {
  const command = commands.find(({ name }) => name.split(" ")[0] === first);
  if (!command) return false;
  return command.options?.includes(agentFlag) || takesProgram(rest, command.commands ?? []);
}
