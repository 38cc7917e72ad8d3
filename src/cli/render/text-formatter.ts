import { styleText } from "node:util";

export type RatingGlyph = "good" | "weak" | "missing";

/**
 * Functions that colour text and add glyphs, as far as the terminal can show them. A word always stands
 * beside a glyph.
 */
export interface TextFormatter {
  bold(text: string): string;
  dim(text: string): string;
  /** Colours a line of a diff by its kind: added, removed or context. */
  changed(line: string): string;
  mark(mark: RatingGlyph): string;
}

type Style = Parameters<typeof styleText>[0];

export function styleFor(stream: NodeJS.WriteStream): (format: Style, text: string) => string {
  return (format, text) => styleText(format, text, { stream, validateStream: true });
}

const marks: Readonly<Record<RatingGlyph, readonly [unicode: string, ascii: string, style: Style]>> = {
  good: ["✓", "+", "green"],
  weak: ["!", "!", "yellow"],
  missing: ["✗", "x", "red"],
};

export function textFormatter(stream: NodeJS.WriteStream, unicode: boolean): TextFormatter {
  const style = styleFor(stream);
  return {
    bold: (text) => style("bold", text),
    dim: (text) => style("dim", text),
    changed: (line) => {
      if (line.startsWith("+")) return style("green", line);
      if (line.startsWith("-")) return style("red", line);
      return line.startsWith("@@") ? style("cyan", line) : line;
    },
    mark(mark) {
      const [fancy, plain, format] = marks[mark];
      return style(format, `${unicode ? fancy : plain} ${mark.padEnd("missing".length)}`);
    },
  };
}
