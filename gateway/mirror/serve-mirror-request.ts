import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Mirror, RefusalReason } from "../../src/contract/gateway.ts";
import { sanitizeText } from "../../src/text/sanitize-text.ts";
import { replaceBytes } from "../http/replace-bytes.ts";
import { createSecretScrubber, scrubSecrets } from "../http/secret-scrubber.ts";
import { followRedirects } from "./follow-redirects.ts";
import {
  type AllowedMirrorRequest,
  checkMirrorRequest,
  mirrorKind,
  normalizedRegistryUrl,
} from "./mirror-rules.ts";
import { type SendUpstreamRequest, sendUpstreamRequest, type UpstreamAnswer } from "./upstream-request.ts";

export interface MirrorTraffic {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly status: number;
  /** The number of bytes in the body of the sandbox's request. */
  readonly bytesIn: number;
  /** The number of bytes of the answer's body that went to the sandbox. */
  readonly bytesOut: number;
  readonly ms: number;
}

export interface MirrorRequestTarget {
  readonly mirror: Mirror;
  /** The request's path and query as the client wrote them, after the prefix that selects the mirror. */
  readonly rest: string;
  /** The URL at which the client in the sandbox reaches this mirror, without a trailing slash. */
  readonly base: string;
}

export interface MirrorDeps {
  readonly refuse: (what: string, why: RefusalReason) => void;
  /** Called once for each request, after the gateway has forwarded the whole answer. */
  readonly onServed: (facts: MirrorTraffic) => void;
  readonly ask?: SendUpstreamRequest;
  /** Aborts when the host withdraws the worker's permission to use the gateway. */
  readonly signal?: AbortSignal;
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
  ...["content-type", "content-length", "content-encoding", "content-range", "accept-ranges"],
  ...["etag", "last-modified", "cache-control", "retry-after"],
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
  const method = request.method ?? "";
  const outcome = await ask(request, subject, deps, abandonedSignal(response, deps.signal));
  switch (outcome.kind) {
    case "gone":
      response.destroy();
      return;
    case "refused":
      deps.refuse(sanitizeText(`${method} /r/*/${mirror.name}${rest}`), outcome.why);
      return answerError(response, mirror, outcome);
    case "answer":
    case "moved": {
      const bytesOut = await passBack(response, subject, outcome);
      const { hostname, port, protocol } = new URL(mirror.url);
      deps.onServed({
        ...{ host: hostname, port: Number(port) || (protocol === "https:" ? 443 : 80) },
        ...{ path: sanitizeText(rest), status: response.statusCode },
        ...{ bytesIn: outcome.bytesIn(), bytesOut, ms: Math.round(performance.now() - begun) },
      });
    }
  }
}

interface RefusedOutcome {
  readonly kind: "refused";
  readonly why: RefusalReason;
  readonly status: number;
  readonly message: string;
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
): Promise<RefusedOutcome | GoodOutcome | { readonly kind: "gone" }> {
  const kind = mirrorKind(mirror.name);
  const { method = "", headers } = request;
  const question = checkMirrorRequest(mirror, { method, rest, headers });
  if (question.kind === "refused") return question;
  const url = addressIn(mirror, rest);
  if (url === null)
    return {
      kind: "refused",
      why: "path",
      status: 400,
      message:
        "the request's URL is too long, or its path is ambiguous (for example `..`, `//` or an encoded slash)",
    };

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
      return {
        kind: "refused",
        why: "not-found",
        status: 404,
        message: "the Go module proxy does not have this version of the module",
      };
  }

  const body = question.method === "POST" ? bounded(request) : null;
  const followed = await followRedirects(
    put,
    mirror,
    { ...sent, body: body?.stream ?? null },
    // Lets git see the redirect, because git sends its next requests to the redirect's target.
    { isFollowed: kind !== "github" },
  );
  if (abandoned.aborted) return { kind: "gone" };
  if (body?.isTooLong())
    return { kind: "refused", why: "form", status: 413, message: "the request's body is too large" };
  if (followed.kind === "refused") return { ...followed, status: 502 };
  const bytesIn = (): number => body?.bytes() ?? 0;
  return followed.kind === "answer" ? { ...followed, question, bytesIn } : { ...followed, bytesIn };
}

/** Returns the URL of a path at the registry. Returns null if normalisation would change the URL. */
function addressIn(mirror: Mirror, rest: string): URL | null {
  const written = `${normalizedRegistryUrl(mirror)}${rest}`;
  const url = URL.parse(written);
  return url?.href === written ? url : null;
}

function bounded(request: IncomingMessage): {
  stream: Transform;
  bytes: () => number;
  isTooLong: () => boolean;
} {
  let bytes = 0;
  const stream = new Transform({
    transform(piece: Buffer, _encoding, done) {
      bytes += piece.length;
      done(bytes > maxBodyLength ? new Error("the request's body is too large") : null, piece);
    },
  });
  // Uses `pipe`, since `pipeline` would destroy the client's connection before the client gets the error.
  request.pipe(stream).on("error", () => request.unpipe(stream));
  return { stream, bytes: () => bytes, isTooLong: () => bytes > maxBodyLength };
}

/** Forwards a registry's answer to the client. Returns how many bytes it forwarded. */
async function passBack(
  response: ServerResponse,
  { mirror, base }: MirrorRequestTarget,
  outcome: GoodOutcome,
): Promise<number> {
  const secrets = secretsOf(mirror);
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

  let bytes = 0;
  const count = new Transform({
    transform(piece: Buffer, _encoding, done) {
      bytes += piece.length;
      done(null, piece);
    },
  });
  const rewrite = isRewritten ? [replaceBytes(`${normalizedRegistryUrl(mirror)}/`, quoted(`${base}/`))] : [];
  // If the answer is truncated, the pipeline destroys the client's connection, so that the client notices.
  await pipeline([answer.body, scrubbing(secrets), ...rewrite, count, response]).catch(() => {});
  return bytes;
}

/**
 * Returns the credentials that the gateway sends to a registry. The gateway removes them from each answer,
 * because a registry may repeat the request in its answer.
 */
function secretsOf({ headers }: Mirror): string[] {
  return Object.values(headers).flatMap((value) => [value, value.split(" ").at(-1) ?? ""]);
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

function answerError(response: ServerResponse, mirror: Mirror, { status, message }: RefusedOutcome): void {
  const text = `swarm: ${message}`;
  // npm shows the field `error` to the user; git and go show plain text.
  const isJson = mirrorKind(mirror.name) === "npm";
  const body = isJson ? JSON.stringify({ error: text }) : `${text}\n`;
  response.writeHead(status, {
    "content-type": isJson ? "application/json" : "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    // Closes the connection, so that the gateway need not read the rest of the request.
    ...(!response.req.complete && { connection: "close" }),
  });
  response.end(body);
}

/**
 * Returns a signal that aborts when the client disconnects before its answer is complete, or when the host
 * withdraws the worker's permission to use the gateway.
 */
function abandonedSignal(response: ServerResponse, revoked: AbortSignal | undefined): AbortSignal {
  const left = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) left.abort(new Error("The client disconnected"));
  });
  return AbortSignal.any([left.signal, ...(revoked ? [revoked] : [])]);
}
