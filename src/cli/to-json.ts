/** JSON that a terminal can show as it is: what moves a cursor or turns the writing direction is escaped. */
export function toJson(document: unknown): string {
  return escaped(JSON.stringify(document, null, 2));
}

/** The same in a single line. */
export function toJsonLine(document: unknown): string {
  return escaped(JSON.stringify(document));
}

function escaped(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
