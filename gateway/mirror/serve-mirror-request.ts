import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Mirror } from "../../src/contract/gateway.ts";
import { sanitizeText } from "../../src/text/sanitize-text.ts";
import { abandonedSignal } from "../http/abandoned-signal.ts";
import type { AccessReports } from "../http/access-reports.ts";
import { sendWholeAnswer } from "../http/error-answers.ts";
import { replaceBytes } from "../http/replace-bytes.ts";
import { createSecretScrubber, scrubSecrets, secretsInHeaders } from "../http/secret-scrubber.ts";
import { followRedirects } from "./follow-redirects.ts";
import {
  type AllowedMirrorRequest,
  ambiguousUrl,
  checkMirrorRequest,
  mirrorKind,
  normalizedRegistryUrl,
  type RefusedMirrorRequest,
  refused,
} from "./mirror-rules.ts";
import { type SendUpstreamRequest, sendUpstreamRequest, type UpstreamAnswer } from "./upstream-request.ts";

export interface MirrorRequestTarget {
  readonly mirror: Mirror;
  /** The request's path and query as the client wrote them, after the prefix that selects the mirror. */
  readonly rest: string;
  /** The URL at which the client in the sandbox reaches this mirror, without a trailing slash. */
  readonly base: string;
}

export interface MirrorDeps extends AccessReports {
  readonly ask?: SendUpstreamRequest;
}

/**
 * The maximum size of a request's body, in bytes. It allows for the list of commits that git sends when it
 * fetches, which has a few megabytes for the largest repositories.
 */
const maxBodyLength = 16 * 1024 * 1024;

/**
 * The headers of a registry's answer that the gateway forwards to the client. The others, such as cookies and
 * authentication, concern only the gateway's connection to the registry.
 */
const passedBack = [
  "content-type",
  "content-length",
  "content-encoding",
  "content-range",
  "accept-ranges",
  "etag",
  "last-modified",
  "cache-control",
  "retry-after",
];

/** Forwards one request of a sandbox to a package registry, if the request only reads from the registry. */
export async function serveMirrorRequest(
  request: IncomingMessage,
  response: ServerResponse,
  subject: MirrorRequestTarget,
  deps: MirrorDeps,
): Promise<void> {
  const { mirror, rest } = subject;
  const begun = performance.now();
  const outcome = await ask(request, subject, deps, abandonedSignal(response, deps.signal));
  if (outcome.kind === "gone") return void response.destroy();
  if (outcome.kind === "refused") {
    deps.refuse(sanitizeText(`${request.method ?? ""} /r/*/${mirror.name}${rest}`), outcome.why);
    return answerError(response, mirror, outcome);
  }
  const bytesOut = await passBack(response, subject, outcome);
  const { hostname, port, protocol } = new URL(mirror.url);
  deps.onEnded({
    host: hostname,
    port: Number(port) || (protocol === "https:" ? 443 : 80),
    path: sanitizeText(rest),
    status: response.statusCode,
    bytesIn: outcome.bytesIn(),
    bytesOut,
    ms: Math.round(performance.now() - begun),
  });
}

type GoodOutcome = { readonly bytesIn: () => number } & (
  | { readonly kind: "answer"; readonly answer: UpstreamAnswer; readonly question: AllowedMirrorRequest }
  | { readonly kind: "moved"; readonly status: number; readonly rest: string }
);

async function ask(
  request: IncomingMessage,
  { mirror, rest }: MirrorRequestTarget,
  deps: MirrorDeps,
  abandoned: AbortSignal,
): Promise<RefusedMirrorRequest | GoodOutcome | { readonly kind: "gone" }> {
  const { method = "", headers } = request;
  const question = checkMirrorRequest(mirror, { method, rest, headers });
  if (question.kind === "refused") return question;
  const url = addressIn(mirror, rest);
  if (url === null) return ambiguousUrl;

  const { ask: put = sendUpstreamRequest } = deps;
  const sent = { url, method: question.method, headers: question.headers, body: null, signal: abandoned };
  if (question.requiredPath !== null) {
    const there = addressIn(mirror, question.requiredPath) ?? url;
    const known = await followRedirects(
      put,
      mirror,
      { ...sent, url: there, method: "HEAD" },
      { isFollowed: true },
    );
    if (known.kind === "answer") known.answer.body.on("error", () => {}).destroy();
    if (abandoned.aborted) return { kind: "gone" };
    if (known.kind !== "answer" || known.answer.status !== 200)
      return refused("not-found", 404, "the Go module proxy does not have this version of the module");
  }

  const body = question.method === "POST" ? countBytes(maxBodyLength) : null;
  // Uses `pipe`, since `pipeline` would destroy the client's connection before the client gets the error.
  if (body) request.pipe(body.stream).on("error", () => request.unpipe(body.stream));
  const followed = await followRedirects(
    put,
    mirror,
    { ...sent, body: body?.stream ?? null },
    // Lets git see the redirect, because git sends its next requests to the redirect's target.
    { isFollowed: mirrorKind(mirror) !== "github" },
  );
  if (abandoned.aborted) return { kind: "gone" };
  const bytesIn = body?.bytes ?? (() => 0);
  if (bytesIn() > maxBodyLength) return refused("form", 413, "the request's body is too large");
  if (followed.kind === "refused") return { ...followed, status: 502 };
  return followed.kind === "answer" ? { ...followed, question, bytesIn } : { ...followed, bytesIn };
}

/** Returns the URL of a path at the registry. Returns null if normalisation would change the URL. */
function addressIn(mirror: Mirror, rest: string): URL | null {
  const written = `${normalizedRegistryUrl(mirror)}${rest}`;
  const url = URL.parse(written);
  return url?.href === written ? url : null;
}

/** Returns a stream that counts the bytes that it passes on, and fails if they are more than `maxBytes`. */
function countBytes(maxBytes: number): { readonly stream: Transform; readonly bytes: () => number } {
  let bytes = 0;
  const stream = new Transform({
    transform(piece: Buffer, _encoding, done) {
      bytes += piece.length;
      done(bytes > maxBytes ? new Error("the request's body is too large") : null, piece);
    },
  });
  return { stream, bytes: () => bytes };
}

/** Forwards a registry's answer to the client. Returns how many bytes it forwarded. */
async function passBack(
  response: ServerResponse,
  { mirror, base }: MirrorRequestTarget,
  outcome: GoodOutcome,
): Promise<number> {
  // Removes the registry's credentials from each answer, because a registry may repeat the request in its answer.
  const secrets = secretsInHeaders(Object.values(mirror.headers));
  if (outcome.kind === "moved") {
    const location = `${base}${scrubSecrets(outcome.rest, secrets)}`;
    response.writeHead(outcome.status, { location, "content-length": 0 }).end();
    return 0;
  }
  const { answer, question } = outcome;
  const isRewritten = question.mayContainUrls && isRewritable(answer);
  const headers: OutgoingHttpHeaders = {};
  for (const name of passedBack) {
    const value = answer.headers[name];
    if (value !== undefined && !(isRewritten && name === "content-length"))
      headers[name] = scrubSecrets(String(value), secrets);
  }
  response.writeHead(answer.status, headers);

  const { stream: count, bytes } = countBytes(Number.POSITIVE_INFINITY);
  const rewrite = isRewritten ? [replaceBytes(`${normalizedRegistryUrl(mirror)}/`, quoted(`${base}/`))] : [];
  // If the answer is truncated, the pipeline destroys the client's connection, so that the client notices.
  await pipeline([answer.body, scrubbing(secrets), ...rewrite, count, response]).catch(() => {});
  return bytes();
}

function scrubbing(secrets: readonly string[]): Transform {
  const scrub = createSecretScrubber(secrets);
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      done(null, scrub.push(piece));
    },
    flush(done) {
      done(null, scrub.rest());
    },
  });
}

function isRewritable({ headers }: UpstreamAnswer): boolean {
  const isPlain = ["identity", undefined].includes(headers["content-encoding"]);
  return (
    isPlain &&
    /^application\/(?:json|vnd\.npm\.install-v1\+json)\s*(?:;|$)/i.test(headers["content-type"] ?? "")
  );
}

/** Escapes a text so that it can stand inside a JSON string. */
function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function answerError(
  response: ServerResponse,
  mirror: Mirror,
  { status, message }: RefusedMirrorRequest,
): void {
  const text = `swarm: ${message}`;
  // npm shows the field `error` to the user; git and go show plain text.
  const isJson = mirrorKind(mirror) === "npm";
  sendWholeAnswer(response, status, isJson ? JSON.stringify({ error: text }) : `${text}\n`, {
    "content-type": isJson ? "application/json" : "text/plain; charset=utf-8",
  });
}
