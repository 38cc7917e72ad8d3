import { SwarmError } from "../domain/errors.ts";

/** What a call was meant to do, in the words of an error. */
export interface CallMeaning {
  readonly operation: string;
  /** What it means that the thing is not there. */
  readonly missing?: () => SwarmError;
  /** What it means that the thing is in another state (HTTP 409). */
  readonly conflicting?: (reason: string) => SwarmError;
  /** What it means that the engine does not accept the request as it is (HTTP 400). */
  readonly unacceptable?: (reason: string) => SwarmError;
  readonly signal?: AbortSignal | undefined;
}

const silent: readonly string[] = [
  ...["ECONNREFUSED", "ECONNRESET", "ENOENT", "EACCES", "EPIPE", "ETIMEDOUT"],
  ...["EHOSTUNREACH", "ENOTFOUND", "ERR_STREAM_PREMATURE_CLOSE"],
];

/** Only here is it known what the engine's status codes and a broken socket mean. */
export function translateFailure(
  endpoint: string,
  { operation, missing, conflicting, unacceptable, signal }: CallMeaning,
  error: unknown,
): unknown {
  if (signal?.aborted) return signal.reason;
  if (error instanceof SwarmError) return error;
  const {
    statusCode,
    code,
    message = "",
  } = error as { statusCode?: number; code?: string; message?: string };
  const reason = reasonOf(error);
  if (statusCode === 404 && missing) return missing();
  if ((statusCode === 409 || /is not running/.test(reason)) && conflicting) return conflicting(reason);
  if (statusCode === 400 && unacceptable) return unacceptable(reason);
  if (statusCode === undefined && ((code && silent.includes(code)) || /socket hang up/.test(message)))
    return new SwarmError("ENGINE_UNREACHABLE", { tried: [`${endpoint}: ${message}`] }, error);
  return new SwarmError("ENGINE_FAILED", { operation, reason }, error);
}

/** The engine's own sentence, without dockerode's wrapping. */
export function reasonOf(error: unknown): string {
  const { json, message } = error as { json?: { message?: string } | Buffer; message?: string };
  const own = json && "message" in json ? json.message : undefined;
  return (own ?? message ?? String(error))
    .replace(/^\(HTTP code \d+\) [^-]*- /, "")
    .trim()
    .slice(0, 400);
}
