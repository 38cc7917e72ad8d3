import type { Notice } from "../../../contract/notice.ts";
import type { SwarmSummary } from "../../../contract/summary.ts";
import { reportFileName } from "../../../text/report-file-name.ts";
import { describeMergedBranch, describeSwarmTotals } from "./describe-summary.ts";

/**
 * The reason for a notice to the user: the swarm has ended, or a worker of a running swarm needs the user.
 */
export type NoticeReason = { readonly exit: number } | { readonly worker: string; readonly why: string };

export function createNotice(summary: SwarmSummary, occasion: NoticeReason): Notice {
  const { project, swarmId, madeAt, workers, merge, next } = summary;
  const open = workers.filter(({ status }) => status === "failed" || status === "stopped");
  const aside = merge?.workers.filter(({ outcome }) => outcome === "set aside") ?? [];
  const isEnd = "exit" in occasion;
  const text = [describeSwarmTotals(summary), ...(merge === null ? [] : [describeMergedBranch(merge)])].join(
    "; ",
  );
  return {
    event: isEnd ? "ended" : "needs-you",
    at: madeAt,
    project,
    swarmId,
    exit: isEnd ? occasion.exit : null,
    text: isEnd ? text : `Worker ${occasion.worker} needs your attention: ${occasion.why}`,
    needsYou: [
      ...(isEnd ? [] : [{ worker: occasion.worker, why: occasion.why }]),
      // Omits the worker that is the occasion: the list has this worker already, and swarm writes the
      // worker's record only after the notice.
      ...open
        .filter(({ worker }) => isEnd || worker !== occasion.worker)
        .map(({ worker, status, reason }) => ({
          worker,
          why: reason === null ? status : `${status}, ${reason.code}: ${reason.message}`,
        })),
      ...aside.map(({ worker, why }) => ({ worker, why: `set aside: ${why}` })),
    ],
    report: `.aimi/reports/${reportFileName(summary)}.html`,
    next: [...next],
  };
}
