/** Exit codes of what was ended from outside, by HUP, INT, KILL or TERM, and the one of an engine that does not know. */
const fromOutside: readonly number[] = [129, 130, 137, 143, 255];

/** Whether a container ended because of what ran in it: it would do so again. */
export function isOwnEnd(exitCode: number | null): boolean {
  return exitCode !== null && exitCode !== 0 && !fromOutside.includes(exitCode);
}
