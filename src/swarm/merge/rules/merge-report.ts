import type { MergedWorker, MergeReport } from "../../../contract/merge.ts";
import type { SummaryMerge } from "../../../contract/summary.ts";
import type { ContainerRecord } from "../../../state/rules/swarm-state.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";
import { workerSlug } from "../../../text/slugs.ts";
import { describeMergeOutcome } from "./describe-merge.ts";

/** Returns the part of a swarm's summary that describes a merge. All its texts are safe to show. */
export function mergeSummary({ branch, tip, check, workers }: MergeReport): SummaryMerge {
  return {
    branch: sanitizeText(branch),
    tip: sanitizeText(tip, 40),
    command: check.command === null ? null : sanitizeText(check.command, 1_000),
    workers: workers.map((each) => ({
      worker: sanitizeText(each.worker),
      outcome: each.outcome,
      why: sanitizeText(describeMergeOutcome(each, check), 1_000),
    })),
  };
}

/** Returns the default name of the branch on which `swarm merge` puts a swarm's merged results. */
export function defaultIntegrationBranch(swarmId: string): string {
  return `swarm/${swarmId.slice(0, 6)}/integration`;
}

/**
 * Returns a worker's result in the form that `swarm merge` needs. Returns null if the worker is not
 * completed or changed nothing.
 */
export function findResultToMerge(record: ContainerRecord): {
  readonly worker: string;
  readonly commit: string;
  readonly base: string;
  readonly message: string;
} | null {
  const { status, collected, baseCommit } = record;
  if (status !== "completed" || collected === null || baseCommit === null) return null;
  if (collected.commit === baseCommit) return null;
  const worker = workerSlug(record);
  const message = `Merge ${sanitizeText(record.branchName)}\n\nThe work of ${worker}.\n`;
  return { worker, commit: collected.commit, base: baseCommit, message };
}

/** Returns the merge report's entry for a worker that has no result to merge, with the reason. */
export function mergeEntryWithoutResult(record: ContainerRecord): MergedWorker {
  const { status, collected } = record;
  const nothing = { mergedAs: null, files: [], with: [], check: null } as const;
  const worker = { worker: workerSlug(record), commit: collected?.commit ?? null };
  if (status === "completed") return { ...worker, ...nothing, outcome: "unchanged", reason: null };
  const message = `the worker is ${status}${record.reason ? sanitizeText(`, ${record.reason.code}: ${record.reason.message}`, 300) : ""}`;
  return { ...worker, ...nothing, outcome: "not completed", reason: { code: "NOT_COMPLETED", message } };
}
