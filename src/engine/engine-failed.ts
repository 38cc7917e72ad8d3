import { SwarmError } from "../errors/errors.ts";

/** Creates the error ENGINE_FAILED: the engine could not carry out the operation. */
export function engineFailed(
  operation: string,
  reason: string,
  cause?: unknown,
): SwarmError<"ENGINE_FAILED"> {
  return new SwarmError("ENGINE_FAILED", { operation, reason }, cause);
}
