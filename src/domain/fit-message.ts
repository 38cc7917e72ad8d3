/** The protocol's limit for one line to the host, with its break. */
const maxLineLength = 64 * 1024;
const maxBytesOfUnit = 3;
const mark = " … cut";

type Json = string | number | boolean | null | undefined | readonly Json[] | { readonly [key: string]: Json };

/** A message as one line that fits: its longest texts are cut, with a mark, until it does. */
export function fitMessage(message: object): string {
  const line = JSON.stringify(message);
  if (line.length < maxLineLength / maxBytesOfUnit || bytesOf(line) < maxLineLength) return line;
  for (let limit = 2000; limit >= 16; limit = Math.floor(limit / 2)) {
    const shorter = JSON.stringify(cutTexts(message as Json, limit));
    if (bytesOf(shorter) < maxLineLength) return shorter;
  }
  throw new Error("A message has too many fields for one line");
}

function cutTexts(value: Json, limit: number): Json {
  if (typeof value === "string") return cutText(value, limit);
  if (Array.isArray(value)) return value.map((item: Json) => cutTexts(item, limit));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cutTexts(item, limit)]));
}

/** A text of at most `limit` characters that shows where it was cut. */
export function cutText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  // Removes the half of a surrogate pair that the cut leaves.
  return `${text.slice(0, Math.max(0, limit - mark.length)).replace(/[\uD800-\uDBFF]$/, "")}${mark}`;
}

/** The end of a text, of at most `limit` characters. */
export function tailOf(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `…${text.slice(text.length - limit + 1).replace(/^[\uDC00-\uDFFF]/, "")}`;
}

/** The length in UTF-8 bytes, without `node:` and without a copy. */
export function bytesOf(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x80) bytes += 1;
    if (unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff)) bytes += 1;
  }
  return bytes;
}
