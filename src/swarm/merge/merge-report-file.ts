import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import type { MergeReport } from "../../contract/merge.ts";
import { SwarmError } from "../../errors/errors.ts";
import { resolvesInsideFolder } from "../../machine/path-containment.ts";
import { findSchemaViolations } from "../../schema/find-violations.ts";

/**
 * The file with the report of the last merge of a swarm's results. If the file is lost, the next merge
 * creates it again.
 */
export interface MergeReportFile {
  read(swarmId: string): Promise<MergeReport | null>;
  write(report: MergeReport): Promise<void>;
}

export function openMergeReportFile(root: string): MergeReportFile {
  const fileOf = (swarmId: string): string => join(root, ".aimi", "swarms", swarmId, "merge.json");
  return {
    /** Reads the report of the swarm's last merge; returns null if the file is missing or invalid. */
    async read(swarmId) {
      try {
        const value: unknown = JSON.parse(await readFile(fileOf(swarmId), "utf8"));
        return (await isMergeReport(value)) ? (value as MergeReport) : null;
      } catch {
        return null;
      }
    },

    async write(report) {
      const file = fileOf(report.swarmId);
      if (!(await resolvesInsideFolder(root, file)))
        throw new SwarmError("FILE_UNWRITABLE", {
          file,
          reason: "a link in this path points outside the repository",
        });
      await mkdir(dirname(file), { recursive: true });
      await writeFileAtomic(file, `${JSON.stringify(report, null, 2)}\n`);
    },
  };
}

/** Whether a value is a valid merge report, as `swarm merge --json` prints it. */
async function isMergeReport(value: unknown): Promise<boolean> {
  return (await findSchemaViolations("merge", value)).length === 0;
}
