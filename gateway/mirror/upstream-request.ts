import { lookup } from "node:dns";
import type { IncomingHttpHeaders } from "node:http";
import { isIP, type LookupFunction } from "node:net";
import { pipeline, type Readable } from "node:stream";
import { createConnectionPool, hostnameOf, startRequest } from "../http/start-request.ts";
import { isPublicAddress } from "./public-address.ts";

export interface UpstreamRequest {
  readonly url: URL;
  readonly method: "GET" | "HEAD" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable | null;
  /**
   * Whether the server's address must be on the public internet. True for a redirect to a server other than
   * the configured one: only the user's settings may name a server with a private address.
   */
  readonly mustBePublic: boolean;
  readonly signal: AbortSignal;
}

export interface UpstreamAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

export type SendUpstreamRequest = (question: UpstreamRequest) => Promise<UpstreamAnswer>;

/** Thrown if a redirect points to a host that is not on the public internet. */
export class NonPublicHostError extends Error {}

const silenceMs = 60_000;
/**
 * The HTTP connection pools. Requests that may only go to public addresses have a separate pool, because
 * connections in the other pool were opened without a check of the address.
 */
const [ownPool, publicPool] = [createConnectionPool(), createConnectionPool()];

/**
 * Sends a request to a package registry. Resolves when the headers of the answer arrive, and rejects if none
 * arrive; if the connection ends later, the body's stream fails.
 */
export function sendUpstreamRequest(question: UpstreamRequest): Promise<UpstreamAnswer> {
  const { url, body, mustBePublic, method, headers, signal } = question;
  // Rejects a literal address, because Node skips `lookup` for it, and the check in `lookupPublic` would not run.
  if (mustBePublic && isIP(hostnameOf(url)) !== 0)
    return Promise.reject(new NonPublicHostError(hostnameOf(url)));
  const { promise, resolve, reject } = Promise.withResolvers<UpstreamAnswer>();
  const request = startRequest(url, mustBePublic ? publicPool : ownPool, {
    path: `${url.pathname}${url.search}`,
    method,
    headers,
    signal,
    timeout: silenceMs,
    ...(mustBePublic && { lookup: lookupPublic }),
  });
  request.once("timeout", () =>
    request.destroy(new Error(`the server sent nothing for ${silenceMs / 1000} s`)),
  );
  request.on("error", reject);
  request.once("response", (answer) =>
    resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: answer }),
  );
  if (body === null) request.end();
  // Ignores a failure of the pipeline, which destroys the request; the request's own `error` event reports it.
  else pipeline(body, request, () => {});
  return promise;
}

const lookupPublic: LookupFunction = (host, { all, ...how }, answer) => {
  lookup(host, { ...how, all: true }, (error, addresses) => {
    const [first] = addresses ?? [];
    if (error || !first) answer(error ?? new Error(`the host ${host} has no address`), []);
    else if (!addresses.every(({ address }) => isPublicAddress(address)))
      answer(new NonPublicHostError(host), []);
    else if (all) answer(null, addresses);
    else answer(null, first.address, first.family);
  });
};
