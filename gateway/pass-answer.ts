import type { IncomingMessage, ServerResponse } from "node:http";
import { drained } from "../src/wire/drained.ts";
import { answerError } from "./answers.ts";
import { plainAnswer } from "./plain-answer.ts";
import { scrubber, scrubText } from "./scrubber.ts";
import type { ReadUsage, UsageReader } from "./usage-reader.ts";

/** How a model's answer went by. */
export interface PassedAnswer {
  /** 0: there was none. */
  readonly status: number;
  readonly bytes: number;
  /** By the process's own clock. */
  readonly firstByteAt: number | null;
  readonly read: ReadUsage | null;
  /** Of an error's words. */
  readonly beginning: string;
  /** Whether the model may have worked: the call was sent to somebody. */
  readonly isHeard: boolean;
}

export interface PassOptions {
  /** What must not be in it. */
  readonly secrets: readonly string[];
  readonly reader: UsageReader | null;
  readonly gone: AbortSignal;
}

const longestBeginning = 64 << 10;

/** What belongs to one connection, or keeps something of the model's API in the agent. */
const left: ReadonlySet<string> = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "te", "trailer", "transfer-encoding", "upgrade"],
  ...["set-cookie", "alt-svc", "strict-transport-security", "content-length"],
  // It is unpacked here.
  "content-encoding",
]);

/** Passes an answer on as it comes. Whoever reads slowly makes it come slowly. */
export async function passAnswer(
  answer: IncomingMessage,
  response: ServerResponse,
  { secrets, reader, gone }: PassOptions,
): Promise<PassedAnswer> {
  const status = answer.statusCode ?? 502;
  const pieces = plainAnswer(answer);
  if (pieces === null) {
    answer.destroy();
    answerError(response, { status: 502, type: "api_error", message: "the model's API answers in riddles" });
    return { ...{ status, bytes: 0, firstByteAt: null, read: null, beginning: "", isHeard: true } };
  }
  const scrub = scrubber(secrets);
  let bytes = 0;
  let firstByteAt: number | null = null;
  let beginning = "";
  const give = async (piece: Uint8Array): Promise<void> => {
    if (piece.length === 0 || response.write(piece) || gone.aborted) return;
    await drained(response, gone);
  };
  try {
    response.writeHead(statusFor(status), headersOf(answer, secrets));
    response.flushHeaders();
    for await (const piece of pieces) {
      firstByteAt ??= performance.now();
      bytes += piece.length;
      if (status >= 400 && beginning.length < longestBeginning) beginning += piece.toString("latin1");
      reader?.add(piece);
      await give(scrub.push(piece));
    }
    await give(scrub.rest());
    response.end();
  } catch {
    // Cut off on its way here, or nobody wants it any more: what was announced cannot be kept.
    answer.destroy();
    response.destroy();
  }
  return { status, bytes, firstByteAt, read: reader?.end() ?? null, beginning, isHeard: true };
}

/** An agent that is told that its key is wrong tries again for minutes; it is not its key. Some numbers mean nothing. */
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
    if (value === undefined || left.has(name) || isSecret(name, secrets)) continue;
    passed[name] =
      typeof value === "string" ? scrubText(value, secrets) : value.map((each) => scrubText(each, secrets));
  }
  return passed;
}

/** Names of headers come in lower case. */
function isSecret(name: string, secrets: readonly string[]): boolean {
  const lower = secrets.map((secret) => secret.toLowerCase());
  return scrubText(name, lower) !== name;
}
