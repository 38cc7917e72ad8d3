import { SwarmError } from "../../errors/errors.ts";
import type { Output } from "./output.ts";

/**
 * Asks the user a yes-or-no question, and returns true for yes. Without a terminal, throws WOULD_ASK, which
 * names the flag `--yes`.
 */
export async function askForConfirmation(output: Output, question: string): Promise<boolean> {
  const answer = await output.ask(`${question} [y/N]`);
  if (answer === null) throw new SwarmError("WOULD_ASK", { question, flag: "--yes" });
  return /^y(es)?$/i.test(answer.trim());
}
