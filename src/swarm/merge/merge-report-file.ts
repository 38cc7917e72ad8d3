import { join } from "node:path";
import type { MergeReport } from "../../contract/merge.ts";
import { readReportFile, writeReportFile } from "./report-files.ts";

/**
 * The file with the report of the last merge of a swarm's results. If the file is lost, the next merge
 * creates it again.
 */
export interface MergeReportFile {
  /** Reads the report of the swarm's last merge; returns null if the file is missing or invalid. */
  read(swarmId: string): Promise<MergeReport | null>;
  write(report: MergeReport): Promise<void>;
}

export function openMergeReportFile(root: string): MergeReportFile {
  const fileOf = (swarmId: string): string => join(root, ".aimi", "swarms", swarmId, "merge.json");
  return {
    read: (swarmId) => readReportFile(fileOf(swarmId), "merge"),
    write: (report) => writeReportFile(root, fileOf(report.swarmId), report),
  };
}
