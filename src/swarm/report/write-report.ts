import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import type { SwarmSummary } from "../../contract/summary.ts";
import { SwarmError } from "../../errors/errors.ts";
import { refuseLinkOutside } from "../../machine/path-containment.ts";
import { reportFileName } from "../../text/report-file-name.ts";
import { summaryHtml } from "./rules/summary-html.ts";
import { summaryMarkdown } from "./rules/summary-markdown.ts";

/**
 * Writes the report of a swarm to `.aimi/reports/<date>-<swarm>.md` and `.html`, and copies both files to
 * `latest.md` and `latest.html`. Returns the path of the dated `.md` file.
 */
export async function writeSwarmReport(root: string, summary: SwarmSummary): Promise<string> {
  const folder = join(".aimi", "reports");
  const pages = { md: summaryMarkdown(summary), html: summaryHtml(summary) };
  const name = reportFileName(summary);
  for (const stem of [name, "latest"])
    for (const [ending, page] of Object.entries(pages)) {
      const file = join(root, folder, `${stem}.${ending}`);
      await refuseLinkOutside(root, file);
      try {
        await mkdir(join(root, folder), { recursive: true });
        await writeFileAtomic(file, page);
      } catch (error) {
        throw new SwarmError("FILE_UNWRITABLE", { file, reason: (error as Error).message }, error);
      }
    }
  return join(folder, `${name}.md`);
}
