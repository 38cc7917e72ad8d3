import { sanitizeText } from "../../text/sanitize-text.ts";
import { displayWidth, toAscii, truncateMiddleToWidth, truncateToWidth } from "./text-width.ts";
import { type BoardStatus, hasWorkerViewEnded, type WorkerView, workerElapsedMs } from "./worker-view.ts";

/**
 * How to write text for the user's terminal: whether it can show Unicode glyphs, and a function that colours
 * text.
 */
export interface TerminalStyle {
  readonly unicode: boolean;
  readonly style: (format: "green" | "red" | "yellow" | "cyan" | "dim", text: string) => string;
}

/** How to write text, and the time of a monotonic clock in milliseconds. */
export interface BoardLook extends TerminalStyle {
  readonly now: number;
}

/**
 * The widths of the columns in the board's table of workers. A column that does not fit into the window has
 * the width 0.
 */
export interface ColumnLayout {
  readonly columns: number;
  readonly gap: string;
  readonly slug: number;
  readonly stories: number;
  readonly elapsed: number;
  readonly branch: number;
  readonly tokens: number;
  readonly cost: number;
}

const wordWidth = "completed".length;
/**
 * The minimum width of the last column, with the worker's story and activity. The layout omits other columns
 * rather than making this column narrower.
 */
const minActivityWidth = 20;
/** The minimum width of the column with the worker's branch name. */
const minBranchWidth = 12;

/** The glyph and the colour of each status, in the order in which the board counts workers. */
const signs: Readonly<
  Record<BoardStatus, readonly [glyph: string, style: Parameters<TerminalStyle["style"]>[0]]>
> = {
  waiting: ["·", "dim"],
  running: ["▸", "cyan"],
  starting: ["◦", "cyan"],
  stalled: ["!", "yellow"],
  lost: ["?", "yellow"],
  paused: ["=", "yellow"],
  retrying: ["↻", "yellow"],
  stopping: ["▾", "yellow"],
  completed: ["✓", "green"],
  failed: ["✗", "red"],
  skipped: ["-", "red"],
  stopped: ["▪", "yellow"],
};

export const boardStatuses: readonly string[] = Object.keys(signs);

/**
 * Computes the column widths of the board's table of workers, from the widest value in each column and the
 * width of the window.
 */
export function computeColumnLayout(
  pictures: readonly WorkerView[],
  columns: number,
  look: BoardLook,
): ColumnLayout {
  const widest = (textOf: (picture: WorkerView) => string): number =>
    pictures.reduce((most, picture) => Math.max(most, displayWidth(textOf(picture))), 0);
  const gap = columns < 60 ? " " : "  ";
  const slug = Math.min(
    widest(({ slug: text }) => text),
    Math.max(8, Math.floor(columns / 4)),
  );
  const stories = widest(storiesOf);
  const statusWidth = look.unicode ? wordWidth + 2 : wordWidth;
  let left = columns - statusWidth - slug - stories - 3 * gap.length;
  const ifItFits = (most: number, least = most): number => {
    const width = Math.min(most, left - minActivityWidth - gap.length);
    if (width < least || width <= 0) return 0;
    left -= width + gap.length;
    return width;
  };
  const maxBranchLength = Math.min(30, widest(branchOf(look)));
  return {
    columns,
    gap,
    slug,
    stories,
    elapsed: ifItFits(Math.max("00:00".length, widest(elapsedOf(look.now)))),
    branch: ifItFits(maxBranchLength, Math.min(minBranchWidth, maxBranchLength)),
    tokens: ifItFits(widest(tokensOf)),
    cost: ifItFits(widest(costOf)),
  };
}

/** Renders a worker's line on the board, cut to the width of the window. */
export function workerLine(
  picture: WorkerView,
  { columns, gap, ...widths }: ColumnLayout,
  { now, ...look }: BoardLook,
): string {
  const mark = look.unicode ? "…" : "...";
  const cells = [
    pad(truncateMiddleToWidth(picture.slug, widths.slug, mark), widths.slug),
    storiesOf(picture).padStart(widths.stories),
    widths.elapsed === 0 ? "" : elapsedOf(now)(picture).padStart(widths.elapsed),
    pad(truncateMiddleToWidth(branchOf(look)(picture), widths.branch, mark), widths.branch),
    widths.tokens === 0 ? "" : tokensOf(picture).padStart(widths.tokens),
    widths.cost === 0 ? "" : costOf(picture).padStart(widths.cost),
    toTerminalText(doingOf(picture, widths.branch > 0), look),
  ].filter((cell) => cell !== "");
  const [glyph, colour] = signs[picture.status];
  // The line always includes the status as a word, because some terminals cannot show the glyph.
  const word = `${look.unicode ? `${glyph} ` : ""}${picture.status.padEnd(wordWidth)}`;
  const rest = cells.join(gap).trimEnd();
  const room = columns - displayWidth(word) - gap.length;
  return `${look.style(colour, word)}${gap}${truncateToWidth(rest, room, mark)}`;
}

/** Renders a duration as `minutes:seconds`, or as `hours:minutes:seconds` from one hour on. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (count: number): string => String(count).padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** Renders a number in short form, such as 950, 9.5k, 310k or 1.2M. */
export function formatShortCount(count: number): string {
  if (count < 1_000) return String(count);
  const [amount, unit] = count < 999_500 ? [count / 1_000, "k"] : [count / 1_000_000, "M"];
  return `${amount < 9.95 ? amount.toFixed(1) : Math.round(amount)}${unit}`;
}

/**
 * Returns the total number of tokens that a worker's agent has used: input, output, and cache reads and
 * writes.
 */
export function totalTokensOfWorker({ record: { usage } }: WorkerView): number {
  return usage === null
    ? 0
    : usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens + usage.outputTokens;
}

/**
 * Makes untrusted text safe to show on one line of the terminal. Replaces non-ASCII characters if the
 * terminal cannot show Unicode.
 */
export function toTerminalText(text: string, { unicode }: TerminalStyle): string {
  const clean = sanitizeText(text);
  return unicode ? clean : toAscii(clean);
}

function storiesOf({ record: { storyProgress } }: WorkerView): string {
  return `${storyProgress.completed}/${storyProgress.total}`;
}

function elapsedOf(now: number): (picture: WorkerView) => string {
  return (picture) => {
    const elapsed = workerElapsedMs(picture, now);
    return elapsed === null ? "" : formatDuration(elapsed);
  };
}

function branchOf(style: TerminalStyle): (picture: WorkerView) => string {
  return ({ record }) => toTerminalText(record.branchName, style);
}

function tokensOf(picture: WorkerView): string {
  const count = totalTokensOfWorker(picture);
  return count === 0 ? "" : `${formatShortCount(count)} tok`;
}

function costOf({ record: { usage } }: WorkerView): string {
  return usage?.costUsd == null ? "" : `$${usage.costUsd.toFixed(2)}`;
}

function doingOf(picture: WorkerView, hasBranch: boolean): string {
  const { status, why, story, activity, record } = picture;
  if (why !== null) return why;
  if (hasWorkerViewEnded(picture)) return status === "completed" && !hasBranch ? record.branchName : "";
  return [story, activity].filter((part) => part !== null && part !== "").join(" ");
}

function pad(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - displayWidth(text)));
}
