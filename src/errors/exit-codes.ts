/** The exit codes of the program `swarm`. Failures that the user fixes in the same way share an exit code. */
export const exitCodes = {
  done: 0,
  bug: 1,
  usage: 2,
  environment: 3,
  credentials: 4,
  workersFailed: 5,
  locked: 6,
  limited: 7,
  stillRunning: 8,
  conflict: 9,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];
