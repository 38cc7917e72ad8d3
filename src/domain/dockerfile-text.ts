/** A RUN of several lines of shell. Every line ends as the Dockerfile's escape character wants it. */
export function runInstruction(
  lines: readonly string[],
  { flags = "", continuation = "\\" }: { flags?: string; continuation?: string } = {},
): string {
  const start = flags === "" ? "RUN " : `RUN ${flags} ${continuation}\n    `;
  return start + lines.join(` ${continuation}\n    `);
}

/** Lines of shell that are done one after another. */
export function inTurn(lines: readonly string[]): string[] {
  return lines.map((line, index) => (index < lines.length - 1 ? `${line};` : line));
}

/**
 * A shell line that says something to whoever reads the build's output, with a mark to recognise it by. Builders show the text of every
 * step, and there the mark must not stand: so it is put together when it is said.
 */
export function announce(mark: string, text: string): string {
  return `echo "${mark.slice(0, 4)}""${mark.slice(4)} ${text}"`;
}

/** A reference to an image is put into a Dockerfile as it stands, so it is nothing else. */
export function checkedReference(reference: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,500}$/.test(reference))
    throw new Error(`not a reference to an image: ${JSON.stringify(reference)}`);
  return reference;
}
