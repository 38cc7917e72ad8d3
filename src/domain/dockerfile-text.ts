/** Returns a RUN instruction for several shell lines. The Dockerfile's escape character continues each line. */
export function renderRunInstruction(
  lines: readonly string[],
  { flags = "", continuation = "\\" }: { flags?: string; continuation?: string } = {},
): string {
  const start = flags === "" ? "RUN " : `RUN ${flags} ${continuation}\n    `;
  return start + lines.join(` ${continuation}\n    `);
}

/** Ends each shell line but the last with `;`, so that the lines can be joined into one. */
export function joinShellLines(lines: readonly string[]): string[] {
  return lines.map((line, index) => (index < lines.length - 1 ? `${line};` : line));
}

/**
 * Returns a shell line that prints a message after a mark, by which swarm recognises the message in a build's
 * output. The shell joins the mark from two parts: builders also print the shell line itself, in which swarm
 * must not find the mark.
 */
export function echoMarkedMessage(mark: string, text: string): string {
  return `echo "${mark.slice(0, 4)}""${mark.slice(4)} ${text}"`;
}

/**
 * Returns an image reference that is safe in a Dockerfile without quotes; throws if the text is no reference.
 */
export function requireImageReference(reference: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,500}$/.test(reference))
    throw new Error(`not a reference to an image: ${JSON.stringify(reference)}`);
  return reference;
}
