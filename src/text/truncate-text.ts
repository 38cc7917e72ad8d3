/**
 * The maximum length of an adapter's message to the host, which is one line, in bytes including the line
 * break.
 */
const maxLineLength = 64 * 1024;
const maxBytesOfUnit = 3;
const mark = " … cut";

type Json = string | number | boolean | null | undefined | readonly Json[] | { readonly [key: string]: Json };

/**
 * Formats an adapter's message as one line of JSON within the protocol's maximum length. If the line is too
 * long, shortens the message's long texts step by step until the line fits.
 */
export function serializeWithinLimit(message: object): string {
  const line = JSON.stringify(message);
  if (line.length < maxLineLength / maxBytesOfUnit || utf8ByteLength(line) < maxLineLength) return line;
  for (let limit = 2000; limit >= 16; limit = Math.floor(limit / 2)) {
    const shorter = JSON.stringify(cutTexts(message as Json, limit));
    if (utf8ByteLength(shorter) < maxLineLength) return shorter;
  }
  throw new Error("A message has too many fields to fit into one line");
}

function cutTexts(value: Json, limit: number): Json {
  if (typeof value === "string") return truncateText(value, limit);
  if (Array.isArray(value)) return value.map((item: Json) => cutTexts(item, limit));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cutTexts(item, limit)]));
}

/** Shortens a text to at most `limit` characters. Marks the end of the text if something was removed. */
export function truncateText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  // The cut can split a surrogate pair. The remaining half is no valid character, so remove it.
  return `${text.slice(0, Math.max(0, limit - mark.length)).replace(/[\uD800-\uDBFF]$/, "")}${mark}`;
}

/**
 * Returns the last characters of a text, at most `limit`. The result begins with `…` if something was
 * removed.
 */
export function truncateTextStart(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `…${text.slice(text.length - limit + 1).replace(/^[\uDC00-\uDFFF]/, "")}`;
}

/**
 * Returns the length of a text in UTF-8 bytes, without importing a `node:` module and without copying the
 * text.
 */
export function utf8ByteLength(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x80) bytes += 1;
    if (unit >= 0x800 && (unit < 0xd800 || unit > 0xdfff)) bytes += 1;
  }
  return bytes;
}
