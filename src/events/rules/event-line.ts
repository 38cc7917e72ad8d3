import { sanitizeText } from "../../text/sanitize-text.ts";
import { utf8ByteLength } from "../../text/truncate-text.ts";

/** The maximum length of a line in the event log, in bytes, including the line break. */
const maxEventLineBytes = 4096;

/** An event to log: a decision or an action of the owner, with its details. */
export interface EventToLog {
  readonly event: string;
  readonly worker?: string;
  readonly [fact: string]: unknown;
}

interface Bounds {
  readonly text: number;
  readonly items: number;
}

/**
 * The maximum lengths of texts and lists in an event, largest first. `eventLine` tries them in this order
 * until the event's line is short enough.
 */
const boundsToTry: readonly Bounds[] = [
  { text: 1_000, items: 100 },
  { text: 300, items: 30 },
  { text: 100, items: 10 },
  { text: 30, items: 5 },
];
const maxDepth = 5;
const maxValues = 2_000;
const maxNameLength = 60;
const reservedNames: readonly string[] = ["at", "swarmId", "event", "worker", "isCut"];

/**
 * Formats an event as one line of JSON with a line break. The line contains no hidden characters, and has at
 * most `maxEventLineBytes` bytes.
 */
export function eventLine(
  { event, worker, ...facts }: EventToLog,
  { at, swarmId }: { readonly at: string; readonly swarmId: string | null },
): string {
  const swarmIdInFacts = facts["swarmId"];
  const head = {
    at,
    swarmId:
      swarmId ?? (typeof swarmIdInFacts === "string" ? sanitizeText(swarmIdInFacts, maxNameLength) : null),
    event: sanitizeText(event, maxNameLength),
    ...(worker === undefined ? {} : { worker: sanitizeText(worker, maxNameLength) }),
  };
  const own = Object.fromEntries(Object.entries(facts).filter(([name]) => !reservedNames.includes(name)));
  for (const bounds of boundsToTry) {
    const cutter = new Cutter(bounds);
    const cutEvent = cutter.cut(own, 0) as object;
    const line = `${JSON.stringify({ ...head, ...cutEvent, ...(cutter.isCut && { isCut: true }) })}\n`;
    if (utf8ByteLength(line) <= maxEventLineBytes) return line;
  }
  return `${JSON.stringify({ ...head, isCut: true })}\n`;
}

/**
 * Copies a value for JSON output, and shortens texts, lists and deeply nested values to their maximum sizes.
 */
class Cutter {
  isCut = false;
  readonly #bounds: Bounds;
  #values = 0;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  cut(value: unknown, depth: number): unknown {
    this.#values += 1;
    if (depth > maxDepth || this.#values > maxValues) {
      this.isCut = true;
      return null;
    }
    if (typeof value === "string") return this.#text(value);
    if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
    if (typeof value === "bigint") return String(value);
    if (typeof value !== "object") return undefined;
    if (Array.isArray(value)) return this.#first(value).map((item) => this.cut(item, depth + 1) ?? null);
    return Object.fromEntries(
      this.#first(Object.entries(value)).map(([name, part]) => [
        sanitizeText(name, maxNameLength),
        this.cut(part, depth + 1),
      ]),
    );
  }

  #text(text: string): string {
    // Cut the text before cleaning it: to clean megabytes of text would block the process.
    const start = text.slice(0, 8 * this.#bounds.text);
    const clean = sanitizeText(start, Number.POSITIVE_INFINITY);
    const short = sanitizeText(clean, this.#bounds.text);
    if (start.length < text.length || short !== clean) this.isCut = true;
    return short;
  }

  #first<Item>(items: readonly Item[]): readonly Item[] {
    if (items.length > this.#bounds.items) this.isCut = true;
    return items.slice(0, this.#bounds.items);
  }
}
