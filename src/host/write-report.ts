import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import { SwarmError } from "../domain/errors.ts";
import type { SwarmSummary } from "../domain/generated/summary.ts";
import { summaryMarkdown } from "../domain/summary-markdown.ts";
import { liesInside } from "./inside.ts";

/** Writes `.aimi/reports/<swarmId>.md`, in the place of an earlier one, and says where it is. */
export async function writeReport(root: string, summary: SwarmSummary): Promise<string> {
  const file = join(root, ".aimi", "reports", `${summary.swarmId}.md`);
  if (!(await liesInside(root, file)))
    throw new SwarmError("FILE_UNWRITABLE", { file, reason: "a link there leads out of the repository" });
  try {
    await mkdir(join(root, ".aimi", "reports"), { recursive: true });
    await writeFileAtomic(file, summaryMarkdown(summary));
  } catch (error) {
    throw new SwarmError("FILE_UNWRITABLE", { file, reason: (error as Error).message }, error);
  }
  return join(".aimi", "reports", `${summary.swarmId}.md`);
}
