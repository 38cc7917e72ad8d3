import type { MergedWorker, MergeReport } from "../../../contract/merge.ts";
import { formatCount } from "../../../text/format-count.ts";

/** Returns whether the check of a merge fails on the branch even before any result is merged. */
export function hasCheckFailedOnBase({ before }: MergeReport["check"]): boolean {
  return before !== null && before.exitCode !== 0;
}

/** Describes why `swarm merge` merged a worker's result or left it out. */
export function describeMergeOutcome(
  { outcome, reason, files, check: ran }: MergedWorker,
  check: MergeReport["check"],
): string {
  if (reason) return [reason.message, ...(files.length > 0 ? [`in ${formatFileList(files)}`] : [])].join(" ");
  if (outcome === "unchanged") return "the worker changed nothing";
  if (ran === null) return "";
  if (ran.exitCode === 0)
    return hasCheckFailedOnBase(check) ? "the check passes with this result" : "the check passes";
  return "the check fails, as it did before the merge";
}

const maxFiles = 5;

export function formatFileList(files: readonly string[]): string {
  const more = files.length > maxFiles ? ` and ${formatCount(files.length - maxFiles, "more")}` : "";
  return `${files.slice(0, maxFiles).join(", ")}${more}`;
}
