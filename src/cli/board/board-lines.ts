import { formatCount } from "../../text/format-count.ts";
import { displayWidth, truncateToWidth } from "./text-width.ts";
import {
  type BoardLook,
  boardStatuses,
  computeColumnLayout,
  formatDuration,
  formatShortCount,
  type TerminalStyle,
  toTerminalText,
  totalTokensOfWorker,
  workerLine,
} from "./worker-line.ts";
import { hasWorkerViewEnded, type WorkerView } from "./worker-view.ts";

/** What the board, swarm's live view in the terminal, shows about a running swarm. */
export interface SwarmView {
  /** The swarm's workers, in the order of their records in the state file. */
  readonly workers: readonly WorkerView[];
  /** The current step of preparing the swarm; null once workers can start. */
  readonly step: string | null;
  /** Why the owner is stopping the swarm early; null if the owner is not stopping it. */
  readonly stopping: string | null;
  readonly beganAt: number;
}

export interface TerminalWindow {
  readonly columns: number;
  readonly rows: number;
}

/** The minimum width of the board's lines in columns, even in a narrower window. */
const minColumns = 16;

/**
 * Renders the board's lines to fit a terminal window, with one row left for the cursor. If there is no room
 * for all workers, prefers running workers, then failed ones, then those that completed last; another line
 * counts the rest.
 */
export function boardLines(picture: SwarmView, window: TerminalWindow, look: BoardLook): string[] {
  // Some terminals wrap after a character in the last column, so the board leaves this column empty.
  const columns = Math.max(minColumns, window.columns - 1);
  const rows = Math.max(0, window.rows - 1);
  const below = [
    ...wholeLines(picture, look),
    ...waitingLine(picture, look),
    ...(picture.workers.length > 0 ? [summaryLine(picture, columns, look)] : []),
  ].map((line) => truncateToWidth(line, columns, look.unicode ? "…" : "..."));
  const begun = picture.workers.filter(({ status }) => status !== "waiting");
  const maxLines = rows - below.length;
  const chosen = begun.length <= maxLines ? begun : mostImportant(begun, maxLines - 1);
  const left = begun.filter((worker) => !chosen.includes(worker));
  const layout = computeColumnLayout(picture.workers, columns, look);
  const lines = [
    ...chosen.map((worker) => workerLine(worker, layout, look)),
    ...(left.length > 0 ? [`and ${left.length} more: ${countsOf(left)}`] : []),
    ...below,
  ];
  return lines.slice(Math.max(0, lines.length - rows));
}

/**
 * Chooses at most `maxLines` workers to show: running workers first, then failed ones, then those that
 * completed last. Returns them in their original order.
 */
function mostImportant(workers: readonly WorkerView[], maxLines: number): WorkerView[] {
  const rank = (worker: WorkerView): number =>
    hasWorkerViewEnded(worker) ? (worker.status === "completed" ? 2 : 1) : 0;
  const byWorth = workers.toSorted(
    (one, other) =>
      rank(one) - rank(other) || (hasWorkerViewEnded(one) ? (other.endedAt ?? -1) - (one.endedAt ?? -1) : 0),
  );
  const chosen = new Set(byWorth.slice(0, Math.max(0, maxLines)));
  return workers.filter((worker) => chosen.has(worker));
}

/**
 * Renders the lines about the swarm as a whole: one for the current preparation step, and one for the reason
 * why the swarm is stopping.
 */
function wholeLines({ workers, step, stopping, beganAt }: SwarmView, look: BoardLook): string[] {
  // If there are workers, the summary line shows the elapsed time instead.
  const elapsed = workers.length > 0 ? "" : `  ${formatDuration(look.now - beganAt)}`;
  return [
    ...(step === null
      ? []
      : [`${look.unicode ? "◦ " : ""}preparing  ${toTerminalText(step, look)}${elapsed}`]),
    ...(stopping === null ? [] : [`${look.unicode ? "▾ " : ""}stopping   ${toTerminalText(stopping, look)}`]),
  ];
}

const maxReasons = 3;

/**
 * Renders how many workers wait and why, such as `12 waiting: 9 for a free slot, 3 for what they depend on`.
 * Renders no line if no worker waits.
 */
function waitingLine({ workers }: SwarmView, look: TerminalStyle): string[] {
  const waiting = workers.filter(({ status }) => status === "waiting");
  if (waiting.length === 0) return [];
  const counts = Map.groupBy(waiting, ({ why }) => why ?? "");
  const whys = [...counts]
    .filter(([why]) => why !== "")
    .toSorted(([, one], [, other]) => other.length - one.length)
    .map(([why, those]) => ({ why: toTerminalText(why, look).replace(/^waits /, ""), count: those.length }));
  const [only] = whys;
  if (only?.count === waiting.length) return [`${waiting.length} waiting ${only.why}`];
  const others = sum(whys.slice(maxReasons).map(({ count }) => count));
  const reasons = [
    ...whys.slice(0, maxReasons).map(({ why, count }) => `${count} ${why}`),
    ...(others === 0 ? [] : [`${others} for other reasons`]),
  ].join(", ");
  return [`${waiting.length} waiting${reasons ? `: ${reasons}` : ""}`];
}

/**
 * Renders the board's last line: the number of workers by status, and the stories, time, tokens and cost, as
 * far as they fit.
 */
function summaryLine(picture: SwarmView, columns: number, { now }: { readonly now: number }): string {
  const { workers, beganAt } = picture;
  const stories = workers.map(({ record }) => record.storyProgress);
  const tokens = sum(workers.map(totalTokensOfWorker));
  const costs = workers.flatMap(({ record }) => record.usage?.costUsd ?? []);
  const begun = workers.filter(({ status }) => status !== "waiting");
  const parts = [
    begun.length === 0 ? formatCount(workers.length, "worker") : countsOf(begun),
    `${sum(stories.map(({ completed }) => completed))}/${sum(stories.map(({ total }) => total))} stories`,
    formatDuration(now - beganAt),
    tokens === 0 ? [] : `${formatShortCount(tokens)} tokens`,
    costs.length === 0 ? [] : `$${sum(costs).toFixed(2)}`,
  ].flat();
  return parts.reduce((line, part) => {
    const longer = line === "" ? part : `${line}  ${part}`;
    return line === "" || displayWidth(longer) <= columns ? longer : line;
  }, "");
}

/** Renders how many workers have each status: `4 running, 20 completed, 1 failed`. */
function countsOf(workers: readonly WorkerView[]): string {
  const counts = Map.groupBy<string, WorkerView>(workers, ({ status }) => status);
  return boardStatuses
    .flatMap((status) => {
      const count = counts.get(status)?.length ?? 0;
      return count === 0 ? [] : `${count} ${status}`;
    })
    .join(", ");
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
