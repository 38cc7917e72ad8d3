/**
 * Exit codes that do not show that the program itself failed: those after the signals HUP, INT, KILL and
 * TERM, and 255, which engines report for an unknown exit code.
 */
const fromOutside: readonly number[] = [129, 130, 137, 143, 255];

/**
 * Whether the exit code shows that the container's program failed by itself, not because of a signal. A
 * program that failed by itself would fail again after a restart.
 */
export function hasProgramFailedByItself(exitCode: number | null): boolean {
  return exitCode !== null && exitCode !== 0 && !fromOutside.includes(exitCode);
}
