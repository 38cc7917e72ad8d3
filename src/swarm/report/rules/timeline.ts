import type { SwarmSummary, WorkerSummary } from "../../../contract/summary.ts";

/**
 * A worker's bar on the timeline of a swarm's summary; `from` (the start) and `width` are in thousandths of
 * the timeline.
 */
export interface TimelineBar {
  readonly worker: WorkerSummary;
  readonly from: number;
  readonly width: number;
}

export interface Timeline {
  readonly bars: readonly TimelineBar[];
  readonly from: Date;
  readonly to: Date;
}

/** The minimum width of a worker's bar, in thousandths of the timeline, so that the bar stays visible. */
const minWidth = 4;

/**
 * Computes the timeline's bars of all workers that have started, earliest first; null if no worker has
 * started. A running worker's bar ends at the time at which the summary was made.
 */
export function computeTimeline({
  workers,
  madeAt,
}: Pick<SwarmSummary, "workers" | "madeAt">): Timeline | null {
  const spans = workers.flatMap((worker) => {
    if (worker.startedAt === null) return [];
    const from = Date.parse(worker.startedAt);
    return [{ worker, from, to: Math.max(from, Date.parse(worker.finishedAt ?? madeAt)) }];
  });
  if (spans.length === 0) return null;
  const from = Math.min(...spans.map((span) => span.from));
  const to = Math.max(...spans.map((span) => span.to));
  const scale = 1_000 / Math.max(1, to - from);
  const bars = spans
    .toSorted((one, other) => one.from - other.from)
    .map((span): TimelineBar => {
      const width = Math.max(minWidth, (span.to - span.from) * scale);
      return { worker: span.worker, from: Math.min((span.from - from) * scale, 1_000 - width), width };
    });
  return { bars, from: new Date(from), to: new Date(to) };
}
