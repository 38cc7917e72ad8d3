/** Exit codes of programs ended from outside, by HUP, INT, KILL or TERM, and the code of an engine that knows none. */
const fromOutside: readonly number[] = [129, 130, 137, 143, 255];

/** Whether a container ended because of the program in it, so that a restart would end in the same way. */
export function endedByItself(exitCode: number | null): boolean {
  return exitCode !== null && exitCode !== 0 && !fromOutside.includes(exitCode);
}
