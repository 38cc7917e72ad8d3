/**
 * Matches characters that hide or reorder text: control characters, lone surrogates, direction marks,
 * zero-width characters, and the tag characters from U+E0000. Does not match a zero-width joiner that a
 * script or an emoji needs.
 */
const hidden =
  /[\p{Cc}\p{Cs}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]|(?<![\p{Lo}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])[\u200c\u200d]|[\u200c\u200d](?![\p{Lo}\p{Extended_Pictographic}])/u;
const allHidden = new RegExp(hidden, "gu");

/**
 * Matches whole terminal control sequences, which begin with ESC or a C1 control character. If swarm removed
 * only the control characters, the printable rest of each sequence would remain.
 */
const sequences =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|(?:\u001b[PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u0090\u0098\u009c-\u009f]*(?:\u0007|\u001b\\|\u009c)|\u001b[@-_]?/g;

/**
 * Makes a text from a file or a container safe to show. The result is one line without hidden characters,
 * cut to `limit` characters.
 */
export function sanitizeText(text: string, limit = 300): string {
  const shown = text
    .replace(sequences, "")
    .replace(/[\r\n\t\u2028\u2029]+/g, " ")
    .replace(allHidden, "");
  const characters = [...shown];
  return characters.length <= limit
    ? shown
    : `${characters
        .slice(0, limit - 1)
        .join("")
        .replace(/[\u200c\u200d]$/, "")}…`;
}

/**
 * Makes a text safe to show. The result is one line of any length, with single spaces between words, or
 * `otherwise` if the line would be empty.
 */
export function sanitizeToOneLine(text: string, otherwise: string): string {
  return sanitizeText(text, Number.POSITIVE_INFINITY).replace(/\s+/g, " ").trim() || otherwise;
}

/** Makes a text of any length safe to show. Line breaks and tabs stay. */
export function sanitizeLines(text: string): string {
  return text
    .split("\n")
    .map((line) =>
      line
        .split("\t")
        .map((part) => sanitizeText(part, Number.POSITIVE_INFINITY))
        .join("\t"),
    )
    .join("\n");
}

/** Returns whether a text contains hidden characters other than line breaks and tabs. */
export function hasControlCharacters(text: string): boolean {
  return hidden.test(text.replace(/[\r\n\t]/g, ""));
}

/**
 * Returns whether a text contains no hidden characters at all, so that it needs no cleaning. This check is
 * far cheaper than the cleaning.
 */
export function hasNoHiddenCharacters(text: string): boolean {
  return !hidden.test(text);
}
