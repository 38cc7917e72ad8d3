/** Matches characters that terminals show two columns wide: East Asian wide characters and emoji. */
const wide =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u;
const invisible = /^[\p{Mark}\p{Format}\p{Default_Ignorable_Code_Point}]+$/u;
const ascii = /^[ -~]*$/;

const characters = new Intl.Segmenter();

/** Returns the width of a text on a terminal, in columns. The text must have no control characters. */
export function displayWidth(text: string): number {
  if (ascii.test(text)) return text.length;
  let width = 0;
  for (const { segment } of characters.segment(text)) width += widthOfCharacter(segment);
  return width;
}

/** Cuts the end of a text so that it fits into `columns`, and appends `mark` to show the cut. */
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

/** Cuts the middle of a text so that it fits into `columns`. Long names often differ only at their ends. */
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

/** Replaces non-ASCII characters of a text, for terminals without Unicode. */
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
