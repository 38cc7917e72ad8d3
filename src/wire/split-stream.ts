/**
 * Splits a stream of bytes into texts at each byte with the value `end`. Truncates each text to `maxLength`
 * bytes.
 */
export async function* splitStream(
  bytes: AsyncIterable<Uint8Array>,
  { end, maxLength }: { readonly end: number; readonly maxLength: number },
): AsyncGenerator<string> {
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bytes)
    for (let at = 0; at < chunk.length; ) {
      const found = chunk.indexOf(end, at);
      const upTo = found < 0 ? chunk.length : found;
      const part = chunk.subarray(at, Math.min(upTo, at + maxLength - length));
      if (part.length > 0) parts.push(part);
      length += part.length;
      at = upTo + 1;
      if (found < 0) continue;
      yield textOf(parts);
      [parts, length] = [[], 0];
    }
}

/** Decodes a text from its parts. Most texts have only one part and need no copy. */
function textOf(parts: readonly Uint8Array[]): string {
  const [only, ...more] = parts;
  if (!only) return "";
  const bytes =
    more.length > 0 ? Buffer.concat(parts) : Buffer.from(only.buffer, only.byteOffset, only.length);
  return bytes.toString();
}
