import { stripVTControlCharacters } from "node:util";
import { displayWidth } from "./text-width.ts";

/** Lines at the bottom of the terminal's output that swarm redraws in place. */
export interface LiveLines {
  draw(lines: readonly string[]): void;
  /** Prints lines above the live lines. The printed lines stay on the terminal. */
  printAbove(lines: readonly string[]): void;
  /** Removes the live lines from the terminal and stops drawing. */
  end(): void;
}

/** The properties of a terminal's output stream that drawing requires. */
export type Terminal = Pick<NodeJS.WriteStream, "write" | "columns" | "on" | "off" | "rows">;

const csi = "\u001b[";
/**
 * The escape codes before and after each write. They make the terminal show the write at once, and hide the
 * cursor only meanwhile, so that a killed process leaves the cursor visible.
 */
const begin = `${csi}?2026h${csi}?25l`;
const end = `${csi}?25h${csi}?2026l`;
const eraseBelow = `${csi}J`;

/**
 * Opens live lines. The library listr2 is no help here: it cannot print notes above its lines, leaves signal
 * listeners behind, and leaves the cursor hidden if the process is killed.
 */
export function openLiveLines(terminal: Terminal): LiveLines {
  let drawn: readonly string[] = [];
  let drawnColumns = 0;

  /**
   * Returns how many rows a drawn line occupies now: more than one if the terminal has become narrower and
   * has wrapped the line.
   */
  const rowsOf = (line: string): number => {
    if (!terminal.columns || terminal.columns >= drawnColumns) return 1;
    const width = Math.min(drawnColumns, displayWidth(stripVTControlCharacters(line)));
    return Math.max(1, Math.ceil(width / terminal.columns));
  };
  /** Returns the escape codes that move the cursor to the first of the drawn lines. */
  const toTop = (): string => {
    const rows = drawn.reduce((sum, line) => sum + rowsOf(line), 0);
    return rows === 0 ? "\r" : `\r${csi}${rows}A`;
  };
  const write = (text: string): void => {
    terminal.write(`${begin}${text}${end}`);
  };
  /**
   * Adds escape codes that turn line wrapping off while drawing. The terminal then cuts a line that is wider
   * than computed, instead of shifting the lines below.
   */
  const asBlock = (rows: readonly string[]): string =>
    rows.length === 0 ? "" : `${csi}?7l${rows.join("")}${csi}?7h`;
  const anew = (line: string): string => `${line}${csi}K\r\n`;

  const draw = (lines: readonly string[]): void => {
    if (lines.length === 0 && drawn.length === 0) return;
    const isSameWindow = terminal.columns === drawnColumns;
    if (isSameWindow && lines.length === drawn.length && lines.every((line, at) => line === drawn[at]))
      return;
    const rows = lines.map((line, at) => (isSameWindow && line === drawn[at] ? "\r\n" : anew(line)));
    const erased = isSameWindow ? "" : eraseBelow;
    write(`${toTop()}${erased}${asBlock(rows)}${eraseBelow}`);
    drawn = lines;
    drawnColumns = terminal.columns;
  };
  return {
    draw,
    printAbove(lines) {
      const text = lines.map((line) => `${line}\r\n`).join("");
      write(`${toTop()}${eraseBelow}${text}${asBlock(drawn.map(anew))}`);
      drawnColumns = terminal.columns;
    },

    end: () => draw([]),
  };
}
