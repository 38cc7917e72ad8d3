import { SwarmError } from "../domain/errors.ts";
import type { Output } from "./output.ts";

/**
 * Asks the user a yes-or-no question. Throws WOULD_ASK without a terminal; the command then requires `--yes`.
 */
export async function askForConfirmation(output: Output, question: string): Promise<boolean> {
  const answer = await output.ask(`${question} [y/N]`);
  if (answer === null) throw new SwarmError("WOULD_ASK", { question, flag: "--yes" });
  return /^y(es)?$/i.test(answer.trim());
}
