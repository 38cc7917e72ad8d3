import { EventEmitter } from "node:events";
import { displayWidth } from "../../../src/cli/board/text-width.ts";

interface Row {
  cells: string[];
  /** Whether it goes on in the next one, which the terminal began by itself. */
  isBroken: boolean;
}

/** A terminal that keeps what it shows. What programs here have no reason to tell it is an error. */
export class FakeTerminal extends EventEmitter {
  columns: number;
  rows: number;
  readonly isTTY = true;
  hasCursor = true;
  writes = 0;
  #lines: Row[] = [newRow()];
  /** The first line of those that are seen. */
  #top = 0;
  #row = 0;
  #column = 0;
  #breaksLines = true;

  constructor(columns: number, rows: number) {
    super();
    [this.columns, this.rows] = [columns, rows];
  }

  write(text: string): boolean {
    this.writes += 1;
    for (const [part] of text.matchAll(/\u001b\[[0-?]*[A-Za-z]|\p{Cc}|[^\p{Cc}]/gu)) this.#take(part);
    return true;
  }

  /** What is seen, without empty lines at its end. */
  screen(): string[] {
    return this.#lines.slice(this.#top).map(textOf);
  }

  /** What has gone out of sight. */
  history(): string[] {
    return this.#lines.slice(0, this.#top).map(textOf);
  }

  /** As terminals of today do it: lines are broken anew. */
  resize(columns: number, rows: number): void {
    const cursor = this.#lines[this.#row];
    const wholes = this.#lines.flatMap((_row, at) =>
      this.#lines[at - 1]?.isBroken ? [] : [this.#wholeFrom(at)],
    );
    this.#lines = [];
    for (const parts of wholes) {
      if (cursor && parts.includes(cursor)) this.#row = this.#lines.length;
      this.#lines.push(
        ...brokenAt(
          parts.flatMap(({ cells }) => cells),
          columns,
        ),
      );
    }
    this.#column = Math.min(this.#column, columns - 1);
    [this.columns, this.rows] = [columns, rows];
    this.#top = Math.max(0, this.#lines.length - rows);
    this.emit("resize");
  }

  #wholeFrom(start: number): Row[] {
    const end = this.#lines.findIndex(({ isBroken }, at) => at >= start && !isBroken);
    return this.#lines.slice(start, end + 1);
  }

  #take(part: string): void {
    if (!/^\p{Cc}/u.test(part)) {
      this.#put(part);
      return;
    }
    const [, count, kind] = /^\u001b\[(\d*)([AKJm])$/.exec(part) ?? [];
    switch (kind ?? part) {
      case "\r":
        this.#column = 0;
        return;
      case "\n":
        this.#down();
        this.#column = 0;
        return;
      case "A":
        this.#row = Math.max(this.#top, this.#row - Number(count || 1));
        return;
      case "K":
        this.#eraseBehind();
        return;
      case "J":
        this.#eraseBehind();
        this.#lines.splice(this.#row + 1);
        return;
      case "m":
      case "\u001b[?2026h":
      case "\u001b[?2026l":
        return;
      case "\u001b[?7l":
      case "\u001b[?7h":
        this.#breaksLines = part.endsWith("h");
        return;
      case "\u001b[?25l":
      case "\u001b[?25h":
        this.hasCursor = part.endsWith("h");
        return;
      default:
        throw new Error(`the terminal was told ${JSON.stringify(part)}`);
    }
  }

  #put(character: string): void {
    const width = displayWidth(character);
    if (width > 0 && this.#column + width > this.columns) {
      if (this.#breaksLines) {
        this.#line().isBroken = true;
        this.#down();
        this.#column = 0;
      } else this.#column = this.columns - width;
    }
    const { cells } = this.#line();
    while (cells.length < this.#column) cells.push(" ");
    if (width === 0) cells[Math.max(0, this.#column - 1)] += character;
    else cells.splice(this.#column, width, character, ...(width === 2 ? [""] : []));
    this.#column += width;
  }

  #eraseBehind(): void {
    const row = this.#line();
    row.cells.splice(this.#column);
    row.isBroken = false;
  }

  #line(): Row {
    const row = this.#lines[this.#row];
    if (!row) throw new Error("the cursor is nowhere");
    return row;
  }

  #down(): void {
    this.#row += 1;
    if (this.#row === this.#lines.length) this.#lines.push(newRow());
    this.#top = Math.max(this.#top, this.#row - this.rows + 1);
  }
}

function newRow(): Row {
  return { cells: [], isBroken: false };
}

function brokenAt(cells: readonly string[], columns: number): Row[] {
  const rows: Row[] = [];
  for (let at = 0; at < cells.length || at === 0; at += columns)
    rows.push({ cells: cells.slice(at, at + columns), isBroken: at + columns < cells.length });
  return rows;
}

function textOf({ cells }: Row): string {
  return cells.join("").trimEnd();
}
