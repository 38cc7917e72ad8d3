import { usageError } from "../../../errors/errors.ts";
import { requireSwarmState } from "../../../state/find-state.ts";
import { summarizeState } from "../../../swarm/report/summarize-state.ts";
import type { CommandHandler } from "../../flags/command.ts";
import { summaryLines } from "../../render/summary-lines.ts";

export const summaryCommand: CommandHandler = async ({ project, output }, _args, { markdown, html }) => {
  if ([markdown, html, output.json].filter(Boolean).length > 1)
    throw usageError("--markdown, --html and --json exclude each other");
  const found = await summarizeState(project, await requireSwarmState(project));
  const page = markdown
    ? (await import("../../../swarm/report/rules/summary-markdown.ts")).summaryMarkdown(found)
    : html
      ? (await import("../../../swarm/report/rules/summary-html.ts")).summaryHtml(found)
      : null;
  output.result(found, () => (page === null ? summaryLines(found) : page.trimEnd().split("\n")));
  for (const command of found.next) output.next(`\`${command}\``);
};
