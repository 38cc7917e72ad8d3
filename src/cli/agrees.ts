import { SwarmError } from "../domain/errors.ts";
import type { Output } from "./output.ts";

/** A question that is answered with y or n; where nobody can answer, `--yes` must have said so. */
export async function agrees(output: Output, question: string): Promise<boolean> {
  const answer = await output.ask(`${question} [y/N]`);
  if (answer === null) throw new SwarmError("WOULD_ASK", { question, flag: "--yes" });
  return /^y(es)?$/i.test(answer.trim());
}
