import { exitCodes } from "../../../errors/exit-codes.ts";
import { findFilesToTrust, trustFiles } from "../../../tasks/trust-files.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";
import type { CommandHandler } from "../../flags/command.ts";
import { askForConfirmation } from "../../render/ask-for-confirmation.ts";

export const trustCommand: CommandHandler = async ({ project, output }, _args, { yes }) => {
  const files = await findFilesToTrust(project);
  const waiting = files.filter(({ trusted }) => !trusted);
  for (const { path, asks } of waiting) {
    output.note(`${sanitizeText(path)} contains values that only a trusted file may contain:`);
    for (const ask of asks) output.note(`  ${sanitizeText(ask, Number.POSITIVE_INFINITY)}`);
  }
  const agreed =
    waiting.length > 0 &&
    (yes === true || (await askForConfirmation(output, "Trust these files with exactly this content?")));
  if (agreed) await trustFiles(project, waiting);
  const trusted = agreed ? waiting.map(({ path }) => path) : [];
  output.result({ trusted }, () => [resultLine(waiting.length, trusted)]);
  return agreed || waiting.length === 0 ? exitCodes.done : exitCodes.usage;
};

function resultLine(waiting: number, trusted: readonly string[]): string {
  if (waiting === 0) return "No file of this project still needs to be trusted.";
  return trusted.length > 0
    ? `These files are trusted until they change: ${trusted.map((path) => sanitizeText(path)).join(", ")}`
    : "No file was trusted.";
}
