import type { Finding } from "../contract/doctor.ts";
import { SwarmError } from "../errors/errors.ts";

/** Returns a finding of `swarm doctor` about something that needs no change. */
export function good(subject: string, fact: string): Finding {
  return { subject, state: "good", fact, fix: null };
}

/**
 * Returns a finding about something with which a swarm runs, but not as well as it could. `fix` says what the
 * user can do; null if nothing.
 */
export function weak(subject: string, fact: string, fix: string | null): Finding {
  return { subject, state: "weak", fact, fix };
}

/** Returns a finding about something without which no swarm runs. */
export function missing(subject: string, fact: string, fix: string): Finding {
  return { subject, state: "missing", fact, fix };
}

/**
 * Returns an error handler that turns a `SwarmError` into a finding of `swarm doctor`. The handler rethrows
 * any other error, because that is a bug of swarm.
 */
export function asFinding(subject: string, state: Finding["state"] = "missing"): (error: unknown) => Finding {
  return (error) => {
    if (error instanceof SwarmError) return { subject, state, fact: error.message, fix: error.hint ?? null };
    throw error;
  };
}
