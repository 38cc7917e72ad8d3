import { SwarmError } from "../../domain/errors.ts";
import { exitCodes } from "../../domain/exit-codes.ts";
import { summaryMarkdown } from "../../domain/summary-markdown.ts";
import type { CommandHandler } from "../command.ts";
import { summaryLines } from "../summary-lines.ts";

export const summary: CommandHandler = async ({ swarm, output }, _args, { markdown }) => {
  if (markdown && output.json)
    throw new SwarmError("USAGE", { message: "--markdown and --json exclude each other" });
  const found = await swarm.watch().summary();
  output.result(found, () => (markdown ? summaryMarkdown(found).trimEnd().split("\n") : summaryLines(found)));
  for (const command of found.next) output.next(`\`${command}\``);
  return exitCodes.done;
};
