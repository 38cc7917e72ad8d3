/** Matches characters that are two columns wide on terminals: East Asian wide characters and emoji. */
const wide =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
const invisible = /^[\p{Mark}\p{Format}\p{Default_Ignorable_Code_Point}]+$/u;
const ascii = /^[ -~]*$/;

const characters = new Intl.Segmenter();

/** Returns how many columns a text occupies on a terminal. The text must not contain control characters. */
export function displayWidth(text: string): number {
  if (ascii.test(text)) return text.length;
  let width = 0;
  for (const { segment } of characters.segment(text)) width += widthOfCharacter(segment);
  return width;
}

/** Shortens a text at its end to at most `columns` columns, and appends `mark` if it was shortened. */
export function truncateToWidth(text: string, columns: number, mark: string): string {
  if (text.length <= columns / 2 || displayWidth(text) <= columns) return text;
  const room = columns - displayWidth(mark);
  let width = 0;
  let end = 0;
  for (const { segment, index } of characters.segment(text)) {
    width += widthOfCharacter(segment);
    if (width > room) break;
    end = index + segment.length;
  }
  return room < 0 ? "" : `${text.slice(0, end).trimEnd()}${mark}`;
}

/**
 * Shortens a text in its middle to at most `columns` columns, and puts `mark` there. Keeps both ends, because
 * long names often differ only at the end.
 */
export function truncateMiddleToWidth(text: string, columns: number, mark: string): string {
  if (displayWidth(text) <= columns) return text;
  const behind = Math.floor((columns - displayWidth(mark)) / 2);
  const parts = Array.from(characters.segment(text), ({ segment }) => segment);
  let end = "";
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    if (displayWidth(part + end) > behind) break;
    end = part + end;
  }
  return `${truncateToWidth(text, columns - displayWidth(end), mark)}${end}`;
}

/** Replaces the non-ASCII characters of a text by ASCII characters, for terminals without Unicode. */
export function toAscii(text: string): string {
  if (ascii.test(text)) return text;
  return text
    .normalize("NFKD")
    .replace(/\p{Mark}/gu, "")
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, "-")
    .replace(/[^ -~]/gu, "?");
}

function widthOfCharacter(character: string): number {
  if (invisible.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}
