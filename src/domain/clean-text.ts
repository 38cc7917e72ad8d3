/**
 * What cannot be seen, moves a cursor, turns the writing direction or hides words in it: control characters, halves of characters, marks of
 * direction and of no width, and the tags of U+E0000, which only machines read. Joiners stay where a script or an emoji needs them.
 */
const hidden =
  /[\p{Cc}\p{Cs}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]|(?<![\p{Lo}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])[\u200c\u200d]|[\u200c\u200d](?![\p{Lo}\p{Extended_Pictographic}])/u;
const allHidden = new RegExp(hidden, "gu");

/** Whole sequences that a terminal obeys, or their harmless-looking tails would stay; each is begun by one character or by two. */
const sequences =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|(?:\u001b[PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u0090\u0098\u009c-\u009f]*(?:\u0007|\u001b\\|\u009c)|\u001b[@-_]?/g;

/** Text from files and containers as it may be shown: one line, without anything hidden. */
export function cleanText(text: string, limit = 300): string {
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

/** The same in full, with single blanks between its words: for a line of its own, such as a trailer of a commit. Never empty. */
export function oneLine(text: string, otherwise: string): string {
  return cleanText(text, Number.POSITIVE_INFINITY).replace(/\s+/g, " ").trim() || otherwise;
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

/** Whether a text holds what is hidden; breaks of lines and tabs apart. */
export function hasControlCharacters(text: string): boolean {
  return hidden.test(text.replace(/[\r\n\t]/g, ""));
}

/** Whether cleaning changes a text of several lines at most in its breaks. Far cheaper than taking it apart. */
export function isPlain(text: string): boolean {
  return !hidden.test(text);
}
