import type { IncomingMessage } from "node:http";
import { type ConnectionPool, createConnectionPool, startRequest } from "../http/start-request.ts";

export type UpstreamCallResult =
  | { readonly kind: "answered"; readonly answer: IncomingMessage }
  /**
   * The API did not answer the call. `wasSent` says whether the API may have read the call, and `wasIdle`
   * whether the server closed an idle connection just as the gateway reused it.
   */
  | { readonly kind: "failed"; readonly why: string; readonly wasSent: boolean; readonly wasIdle?: boolean };

export interface ModelCallToSend {
  readonly method: string;
  /** The base URL of the model's API. */
  readonly url: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Uint8Array;
}

const connectMs = 30_000;

const pool = createConnectionPool();

/**
 * Sends a call to its model's API. Resolves when the headers of the answer arrive, or when the call has
 * failed.
 */
export async function sendModelCall(
  call: ModelCallToSend,
  abandoned: AbortSignal,
): Promise<UpstreamCallResult> {
  const sent = await sendOnce(call, abandoned, pool);
  // Retries on a new connection if the server has closed the idle connection: it has not read the call.
  return sent.kind === "failed" && sent.wasIdle ? sendOnce(call, abandoned, null) : sent;
}

function sendOnce(
  { method, url, target, headers, body }: ModelCallToSend,
  abandoned: AbortSignal,
  from: ConnectionPool | null,
): Promise<UpstreamCallResult> {
  const base = new URL(url);
  return new Promise((resolve) => {
    const request = startRequest(base, from, {
      method,
      path: `${base.pathname.replace(/\/$/, "")}${target}`,
      headers: { ...headers, host: base.host, "accept-encoding": "identity", ...lengthOf(method, body) },
      signal: abandoned,
    });
    let wasSent = false;
    const timer = setTimeout(() => request.destroy(new Error("the connection attempt timed out")), connectMs);
    // Once connected, bytes are in flight, and the gateway cannot know whether they arrive.
    const connected = (): void => {
      clearTimeout(timer);
      wasSent = true;
    };
    request.once("socket", (socket) => {
      if (!socket.connecting) connected();
      else socket.once(base.protocol === "https:" ? "secureConnect" : "connect", connected);
    });
    request.once("response", (answer) => resolve({ kind: "answered", answer }));
    request.on("error", (error: NodeJS.ErrnoException) => {
      const isReset = error.code === "ECONNRESET" || error.code === "EPIPE";
      const wasIdle = isReset && request.reusedSocket && !abandoned.aborted;
      resolve({ kind: "failed", why: error.code ?? error.message, wasSent, wasIdle });
    });
    request.once("close", () => {
      clearTimeout(timer);
      // Covers a protocol switch (101), after which Node emits neither `response` nor `error`.
      resolve({ kind: "failed", why: "the server closed the connection without an answer", wasSent });
    });
    request.end(body);
  });
}

/**
 * Returns the header `content-length`, or no header if the body is empty and the method is not POST. Some
 * servers would take `content-length: 0` for the start of another request.
 */
function lengthOf(method: string, body: Uint8Array): Record<string, number> {
  return body.length === 0 && method !== "POST" ? {} : { "content-length": body.length };
}
