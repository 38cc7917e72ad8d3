/**
 * Returns a RUN instruction that contains the given shell lines. The Dockerfile's escape character joins the
 * lines.
 */
export function renderRunInstruction(lines: readonly string[], continuation = "\\", flags = ""): string {
  const start = flags === "" ? "RUN " : `RUN ${flags} ${continuation}\n    `;
  return start + lines.join(` ${continuation}\n    `);
}

/** Ends each shell line except the last with `;`, so that all lines can be joined into one. */
export function joinShellLines(lines: readonly string[]): string[] {
  return lines.map((line, index) => (index < lines.length - 1 ? `${line};` : line));
}

/**
 * Returns a shell line that prints a marker and a message, so that swarm finds the message in a build's
 * output. In the shell line, the marker is split in two: builders also print the line itself, in which swarm
 * must not find the marker.
 */
export function echoMarkedMessage(mark: string, text: string): string {
  return `echo "${mark.slice(0, 4)}""${mark.slice(4)} ${text}"`;
}

/** Returns the image reference if it is safe in a Dockerfile without quotes; otherwise throws. */
export function requireImageReference(reference: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,500}$/.test(reference))
    throw new Error(`not a reference to an image: ${JSON.stringify(reference)}`);
  return reference;
}
