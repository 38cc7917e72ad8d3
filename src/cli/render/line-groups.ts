/**
 * The maximum number of characters of an incomplete line that stay in memory. A longer line is yielded in
 * pieces.
 */
const maxPieceLength = 64 * 1024;

/**
 * Splits a stream of bytes into lines. For each chunk of the stream, yields an array of the lines that end in
 * this chunk; a line longer than `maxPieceLength` is yielded in pieces.
 */
export async function* lineGroups(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of bytes) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length >= maxPieceLength) {
      lines.push(rest);
      rest = "";
    }
    if (lines.length > 0) yield lines;
  }
  rest += decoder.decode();
  if (rest !== "") yield [rest];
}
