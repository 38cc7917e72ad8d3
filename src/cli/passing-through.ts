import { SwarmError } from "../domain/errors.ts";
import { exitCodes } from "../domain/exit-codes.ts";
import type { Output } from "./output.ts";

/** What `docker` exits with when it is not the program that failed. */
export const passThrough = { ours: 125, notExecutable: 126, notFound: 127 } as const;

/** What goes wrong on our side must not look like the program's own exit code. */
export async function passingThrough(
  output: Pick<Output, "fail">,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SwarmError)) throw error;
    output.fail(error);
    return exitOf(error);
  }
}

export function exitOf({ code, exitCode }: SwarmError): number {
  if (code === "PROGRAM_NOT_FOUND") return passThrough.notFound;
  if (code === "PROGRAM_NOT_EXECUTABLE") return passThrough.notExecutable;
  if (code === "OUTPUTS_INCOMPLETE" || exitCode === exitCodes.limited) return exitCode;
  return passThrough.ours;
}
