import type { IncomingMessage, ServerResponse } from "node:http";
import { waitUntilDrained } from "../../src/wire/wait-until-drained.ts";
import { decompressModelAnswer } from "../http/decompress-answer.ts";
import { sendErrorAnswer } from "../http/error-answers.ts";
import { createSecretScrubber, scrubSecrets } from "../http/secret-scrubber.ts";
import type { ReportedUsage, UsageReader } from "../usage/usage-reader.ts";

/** The result of forwarding a model API's answer to the client. */
export interface ForwardedModelAnswer {
  /** The HTTP status of the model API's answer; 0 if there was no answer. */
  readonly status: number;
  readonly bytes: number;
  /** The time of the answer's first byte, as `performance.now()` gives it; null if no byte arrived. */
  readonly firstByteAt: number | null;
  readonly usage: ReportedUsage | null;
  /** The beginning of the body of an error answer. Empty if the answer is not an error. */
  readonly errorBeginning: string;
  /** Whether the model's API may have received the call. */
  readonly wasSent: boolean;
}

/** The result if the model API sent no answer that the gateway can forward. */
export const noAnswer: ForwardedModelAnswer = {
  status: 0,
  bytes: 0,
  firstByteAt: null,
  usage: null,
  errorBeginning: "",
  wasSent: true,
};

const maxBeginningLength = 64 << 10;

/**
 * The headers of an answer that the gateway does not forward: those for a single connection, those that make
 * the client store data, and those for the body's encoding.
 */
const droppedHeaders: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "set-cookie",
  "alt-svc",
  "strict-transport-security",
  "content-length",
  // Dropped, because the gateway forwards the body decompressed.
  "content-encoding",
]);

/**
 * Streams a model API's answer to the client with back-pressure. Overwrites the given secrets wherever they
 * occur in the answer, and extracts the answer's usage.
 */
export async function forwardModelAnswer(
  answer: IncomingMessage,
  { response, abandoned }: Readonly<{ response: ServerResponse; abandoned: AbortSignal }>,
  secrets: readonly string[],
  reader: UsageReader | null,
): Promise<ForwardedModelAnswer> {
  const status = answer.statusCode ?? 502;
  const pieces = decompressModelAnswer(answer);
  if (pieces === null) {
    answer.destroy();
    sendErrorAnswer(
      response,
      502,
      "the model's API sent an answer in an encoding that the gateway cannot decode",
    );
    return { ...noAnswer, status };
  }
  const scrub = createSecretScrubber(secrets);
  let bytes = 0;
  let firstByteAt: number | null = null;
  let errorBeginning = "";
  const forward = async (piece: Uint8Array): Promise<void> => {
    if (piece.length === 0 || response.write(piece) || abandoned.aborted) return;
    await waitUntilDrained(response, abandoned);
  };
  try {
    response.writeHead(statusFor(status), headersOf(answer, secrets));
    response.flushHeaders();
    for await (const piece of pieces) {
      firstByteAt ??= performance.now();
      bytes += piece.length;
      if (status >= 400 && errorBeginning.length < maxBeginningLength)
        errorBeginning += piece.toString("latin1");
      reader?.add(piece);
      await forward(scrub.push(piece));
    }
    await forward(scrub.rest());
    response.end();
  } catch {
    // The API's answer was cut off or the client disconnected, so the answer that the headers announced cannot be
    // completed.
    answer.destroy();
    response.destroy();
  }
  return { status, bytes, firstByteAt, usage: reader?.end() ?? null, errorBeginning, wasSent: true };
}

/**
 * Returns the HTTP status for the client: 403 instead of 401, 502 instead of an invalid status, else the
 * API's status. A 401 concerns only the gateway's key, and agents would retry for minutes after it.
 */
function statusFor(status: number): number {
  if (status === 401) return 403;
  return status >= 200 && status <= 599 ? status : 502;
}

function headersOf(
  { headers }: IncomingMessage,
  secrets: readonly string[],
): Record<string, string | string[]> {
  const passed: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || droppedHeaders.has(name) || isSecret(name, secrets)) continue;
    passed[name] =
      typeof value === "string"
        ? scrubSecrets(value, secrets)
        : value.map((each) => scrubSecrets(each, secrets));
  }
  return passed;
}

/** Whether a header's name contains one of the secrets. The name must be in lower case, as Node gives it. */
function isSecret(name: string, secrets: readonly string[]): boolean {
  const lower = secrets.map((secret) => secret.toLowerCase());
  return scrubSecrets(name, lower) !== name;
}
