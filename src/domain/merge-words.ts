import { countOf } from "./count-of.ts";
import type { MergedWorker, MergeReport } from "./generated/merge.ts";

/** Returns whether the check of a merge fails even without any of the merged results. */
export function failsOnBase({ before }: MergeReport["check"]): boolean {
  return before !== null && before.exitCode !== 0;
}

/** Describes why a worker's result was merged or was not merged. */
export function whyMerged(
  { outcome, reason, files, check: ran }: MergedWorker,
  check: MergeReport["check"],
): string {
  if (reason) return [reason.message, ...(files.length > 0 ? [`in ${shownFiles(files)}`] : [])].join(" ");
  if (outcome === "unchanged") return "the worker changed nothing";
  if (ran === null) return "";
  if (ran.exitCode === 0)
    return failsOnBase(check) ? "the check passes with this result" : "the check passes";
  return "the check fails, as it did before the merge";
}

const maxFiles = 5;

export function shownFiles(files: readonly string[]): string {
  const more = files.length > maxFiles ? ` and ${countOf(files.length - maxFiles, "more")}` : "";
  return `${files.slice(0, maxFiles).join(", ")}${more}`;
}
