import { SwarmError } from "../errors/errors.ts";
import { exitCodes } from "../errors/exit-codes.ts";
import type { Output } from "./render/output.ts";

/**
 * The exit codes of swarm if swarm itself fails, or if the program in the sandbox cannot be executed or is
 * not found. `docker run` uses the same codes.
 */
export const passThroughExitCodes = { ours: 125, notExecutable: 126, notFound: 127 } as const;

/**
 * Runs `work` and returns its result, the exit code of a program in a sandbox. If `work` throws a
 * `SwarmError`, prints it and returns an exit code that programs rarely use.
 */
export async function withPassThroughExitCodes(
  output: Pick<Output, "fail">,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SwarmError)) throw error;
    output.fail(error);
    return passThroughExitCodeForError(error);
  }
}

export function passThroughExitCodeForError({ code, exitCode }: SwarmError): number {
  if (code === "PROGRAM_NOT_FOUND") return passThroughExitCodes.notFound;
  if (code === "PROGRAM_NOT_EXECUTABLE") return passThroughExitCodes.notExecutable;
  if (code === "OUTPUTS_INCOMPLETE" || exitCode === exitCodes.limited) return exitCode;
  return passThroughExitCodes.ours;
}
