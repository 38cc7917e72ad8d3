/**
 * Text from files and containers as it may be shown: one line, nothing that moves a cursor, changes a colour or turns
 * the writing direction.
 */
export function cleanText(text: string, limit = 300): string {
  const shown = text
    // Whole escape sequences first, or their harmless-looking tails would stay.
    .replace(
      /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[@-_]?/g,
      "",
    )
    .replace(/[\r\n\t]+/g, " ")
    .replace(/[\p{Cc}\p{Cs}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu, "");
  const characters = [...shown];
  return characters.length <= limit ? shown : `${characters.slice(0, limit - 1).join("")}…`;
}

/** The same for text of many lines, as long as it is. */
export function cleanLines(text: string): string {
  return text
    .split("\n")
    .map((line) =>
      line
        .split("\t")
        .map((part) => cleanText(part, Number.POSITIVE_INFINITY))
        .join("\t"),
    )
    .join("\n");
}

/** Whether a text holds what `cleanText` takes out. */
export function hasControlCharacters(text: string): boolean {
  return /[\p{Cc}\p{Cs}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u.test(text.replace(/[\r\n\t]/g, ""));
}
