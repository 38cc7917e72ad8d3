import type { Notice } from "./generated/notice.ts";
import type { SwarmSummary } from "./generated/summary.ts";
import { reportName } from "./report-name.ts";
import { mergedWords, totalWords } from "./summary-words.ts";

/** What whoever is told of the end of a swarm gets to know. */
export function noticeOf(summary: SwarmSummary, exit: number): Notice {
  const { project, swarmId, madeAt, workers, merge, next } = summary;
  const open = workers.filter(({ status }) => status === "failed" || status === "stopped");
  const aside = merge?.workers.filter(({ outcome }) => outcome === "set aside") ?? [];
  return {
    ...{ event: "ended", at: madeAt, project, swarmId, exit },
    text: [totalWords(summary), ...(merge === null ? [] : [mergedWords(merge)])].join("; "),
    needsYou: [
      ...open.map(({ worker, status, reason }) => ({
        worker,
        why: reason === null ? status : `${status}, ${reason.code}: ${reason.message}`,
      })),
      ...aside.map(({ worker, why }) => ({ worker, why: `set aside: ${why}` })),
    ],
    report: `.aimi/reports/${reportName(summary)}.html`,
    next: [...next],
  };
}
