/**
 * The exit codes of programs that a signal (HUP, INT, KILL or TERM) ended, and 255, which engines report for
 * an unknown exit code.
 */
const fromOutside: readonly number[] = [129, 130, 137, 143, 255];

/**
 * Whether the exit code shows that the container's program failed by itself, not because of a signal. Such a
 * program would fail again after a restart.
 */
export function hasProgramFailedByItself(exitCode: number | null): boolean {
  return exitCode !== null && exitCode !== 0 && !fromOutside.includes(exitCode);
}
