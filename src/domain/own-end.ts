/**
 * Exit codes of programs that HUP, INT, KILL or TERM ended; 255 is what an engine reports if it does not know
 * the code.
 */
const fromOutside: readonly number[] = [129, 130, 137, 143, 255];

/**
 * Whether the program in a container ended the container by itself, so that it would end again after a
 * restart.
 */
export function endedByItself(exitCode: number | null): boolean {
  return exitCode !== null && exitCode !== 0 && !fromOutside.includes(exitCode);
}
