/** A RUN instruction of several shell lines, each continued with the Dockerfile's escape character. */
export function runInstruction(
  lines: readonly string[],
  { flags = "", continuation = "\\" }: { flags?: string; continuation?: string } = {},
): string {
  const start = flags === "" ? "RUN " : `RUN ${flags} ${continuation}\n    `;
  return start + lines.join(` ${continuation}\n    `);
}

/** Separates shell lines with `;`. */
export function joinShellLines(lines: readonly string[]): string[] {
  return lines.map((line, index) => (index < lines.length - 1 ? `${line};` : line));
}

/**
 * A shell line that prints a message into the build's output, with a mark by which swarm recognises it. Builders also print
 * each step's text, which must not contain the mark: so the shell joins the mark from two parts.
 */
export function echoMarkedMessage(mark: string, text: string): string {
  return `echo "${mark.slice(0, 4)}""${mark.slice(4)} ${text}"`;
}

/** Checks a reference to an image, which goes into a Dockerfile without quotes. */
export function checkedReference(reference: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,500}$/.test(reference))
    throw new Error(`not a reference to an image: ${JSON.stringify(reference)}`);
  return reference;
}
