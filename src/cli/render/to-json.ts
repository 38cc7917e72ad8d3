/**
 * Renders a document as JSON that is safe to print on a terminal: escapes control, bidirectional and
 * invisible characters.
 */
export function toJson(document: unknown, indent = 2): string {
  return JSON.stringify(document, null, indent).replace(
    /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\udb40-\udb43][\udc00-\udfff]/g,
    (found) =>
      found
        .split("")
        .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
        .join(""),
  );
}

/** Renders a document as `toJson` does, but on a single line. */
export function toJsonLine(document: unknown): string {
  return toJson(document, 0);
}
