import { sanitizeText } from "../../text/sanitize-text.ts";

/** Renders rows of cells as lines with aligned columns. Adds no spaces after the last column. */
export function alignTable(rows: readonly (readonly string[])[]): string[] {
  const clean = rows.map((row) => row.map((cell) => sanitizeText(cell)));
  const widths = clean.reduce<number[]>(
    (widest, row) => row.map((cell, column) => Math.max(widest[column] ?? 0, cell.length)),
    [],
  );
  return clean.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}
