/**
 * The exit codes of programs that HUP, INT, KILL or TERM ended. An engine that does not know the code reports
 * 255.
 */
const fromOutside: readonly number[] = [129, 130, 137, 143, 255];

/**
 * Whether a container ended because of the program in it, so that the container would end again after a
 * restart.
 */
export function hasProgramEndedContainer(exitCode: number | null): boolean {
  return exitCode !== null && exitCode !== 0 && !fromOutside.includes(exitCode);
}
