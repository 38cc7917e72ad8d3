/**
 * Characters that are invisible, move the cursor, change the writing direction or hide words: control characters, lone
 * surrogates, marks of direction and of zero width, and the tag characters from U+E0000, which only machines read.
 * Joiners stay where a script or an emoji needs them.
 */
const hidden =
  /[\p{Cc}\p{Cs}\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]|(?<![\p{Lo}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])[\u200c\u200d]|[\u200c\u200d](?![\p{Lo}\p{Extended_Pictographic}])/u;
const allHidden = new RegExp(hidden, "gu");

/** Terminal control sequences, matched whole because their tails are printable; each begins with one character or two. */
const sequences =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|(?:\u001b[PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u0090\u0098\u009c-\u009f]*(?:\u0007|\u001b\\|\u009c)|\u001b[@-_]?/g;

/** Text from files and containers, made safe to show: one line, without hidden characters. */
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

/** Safe text without a limit, with single blanks between words, such as a commit's trailer needs; `otherwise` if empty. */
export function oneLine(text: string, otherwise: string): string {
  return cleanText(text, Number.POSITIVE_INFINITY).replace(/\s+/g, " ").trim() || otherwise;
}

/** Safe text of many lines, without a limit; tabs stay. */
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

/** Whether a text holds hidden characters other than line breaks and tabs. */
export function hasControlCharacters(text: string): boolean {
  return hidden.test(text.replace(/[\r\n\t]/g, ""));
}

/** Whether a text holds no hidden character at all, so that cleaning leaves it unchanged. Far cheaper than cleaning. */
export function isPlain(text: string): boolean {
  return !hidden.test(text);
}
