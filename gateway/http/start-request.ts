import { request as askPlain, type ClientRequest, Agent as HttpAgent, type RequestOptions } from "node:http";
import { request as askSecure, Agent as HttpsAgent } from "node:https";

/** The open HTTP connections that later requests may use again. */
export interface ConnectionPool {
  readonly plain: HttpAgent;
  readonly secure: HttpsAgent;
}

const options = { keepAlive: true, keepAliveMsecs: 10_000, maxFreeSockets: 64 };

export function createConnectionPool(): ConnectionPool {
  return { plain: new HttpAgent(options), secure: new HttpsAgent(options) };
}

/** Starts a request to the server of a URL. Opens a new connection for the request if `pool` is null. */
export function startRequest(
  url: URL,
  pool: ConnectionPool | null,
  how: Omit<RequestOptions, "agent" | "protocol" | "hostname" | "port">,
): ClientRequest {
  const isSecure = url.protocol === "https:";
  return (isSecure ? askSecure : askPlain)({
    ...how,
    protocol: url.protocol,
    hostname: hostnameOf(url),
    port: url.port,
    agent: pool !== null && (isSecure ? pool.secure : pool.plain),
  });
}

/** Returns the host of a URL, without the brackets around an IPv6 address. */
export function hostnameOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}
