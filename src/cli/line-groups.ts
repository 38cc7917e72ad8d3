/** The most that is kept of a line before it is passed on in pieces. */
const longestPiece = 64 * 1024;

/** Bytes as lines of text without their breaks, as many at once as there are. A line that is very long comes in pieces. */
export async function* lineGroups(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of bytes) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length >= longestPiece) {
      lines.push(rest);
      rest = "";
    }
    if (lines.length > 0) yield lines;
  }
  rest += decoder.decode();
  if (rest !== "") yield [rest];
}
