import type { Finding } from "../contract/doctor.ts";
import { SwarmError } from "../errors/errors.ts";

/** Returns a finding of `swarm doctor`. `fix` says what the user can do; null if there is nothing to fix. */
export function finding(
  subject: string,
  state: Finding["state"],
  fact: string,
  fix: string | null = null,
): Finding {
  return { subject, state, fact, fix };
}

/**
 * Returns an error handler that turns a `SwarmError` into a finding of `swarm doctor`. The handler rethrows
 * any other error, because that is a bug of swarm.
 */
export function asFinding(subject: string, state: Finding["state"] = "missing"): (error: unknown) => Finding {
  return (error) => {
    if (error instanceof SwarmError) return finding(subject, state, error.message, error.hint ?? null);
    throw error;
  };
}
