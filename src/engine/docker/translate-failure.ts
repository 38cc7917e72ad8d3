import { SwarmError } from "../../errors/errors.ts";
import { engineFailed } from "../engine-failed.ts";

/**
 * What error messages need about a call to the engine: the operation's name, and the error for each of the
 * engine's status codes.
 */
export interface EngineCallDescription {
  readonly operation: string;
  /** Creates the error for a container, image or other object that does not exist (HTTP 404). */
  readonly missing?: () => SwarmError;
  /** Creates the error for an object whose state forbids the operation (HTTP 409). */
  readonly conflicting?: (reason: string) => SwarmError;
  /** Creates the error for a request whose content the engine does not accept (HTTP 400). */
  readonly unacceptable?: (reason: string) => SwarmError;
  readonly signal?: AbortSignal | undefined;
}

const silent: readonly string[] = [
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOENT",
  "EACCES",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENOTFOUND",
  "ERR_STREAM_PREMATURE_CLOSE",
];

/**
 * Translates the error of a failed engine call into a `SwarmError`, by the HTTP status code or the
 * connection error. If the caller aborted the call, returns the abort reason instead.
 */
export function translateEngineFailure(
  endpoint: string,
  { operation, missing, conflicting, unacceptable, signal }: EngineCallDescription,
  error: unknown,
): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof SwarmError) return error;
  const { code, message = "" } = error as { code?: string; message?: string };
  const status = httpStatusOf(error);
  const reason = engineErrorMessage(error);
  if (status === 404 && missing) return missing();
  if ((status === 409 || /is not running/.test(reason)) && conflicting) return conflicting(reason);
  if (status === 400 && unacceptable) return unacceptable(reason);
  if (status === undefined && ((code && silent.includes(code)) || /socket hang up/.test(message)))
    return new SwarmError("ENGINE_UNREACHABLE", { tried: [`${endpoint}: ${message}`] }, error);
  return engineFailed(operation, reason, error);
}

/** Returns the HTTP status with which the engine refused a request; undefined for any other error. */
export function httpStatusOf(error: unknown): number | undefined {
  return (error as { readonly statusCode?: number }).statusCode;
}

/** Returns a function that turns an error with this HTTP status into null, and throws any other error. */
export function nullIfStatus(status: number): (error: unknown) => null {
  return (error) => {
    if (httpStatusOf(error) === status) return null;
    throw error;
  };
}

/** Returns the engine's own error message, without the prefix that dockerode adds. */
export function engineErrorMessage(error: unknown): string {
  const { json, message } = error as { json?: { message?: string } | Buffer; message?: string };
  const own = json && "message" in json ? json.message : undefined;
  return (own ?? message ?? String(error))
    .replace(/^\(HTTP code \d+\) [^-]*- /, "")
    .trim()
    .slice(0, 400);
}
