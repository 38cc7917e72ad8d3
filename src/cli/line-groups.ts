/** The length beyond which a line is passed on in pieces. */
const maxPieceLength = 64 * 1024;

/** Splits bytes into lines without line breaks, in groups as they arrive. Very long lines come in pieces. */
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
