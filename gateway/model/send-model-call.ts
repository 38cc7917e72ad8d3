import { request as askPlain, Agent as HttpAgent, type IncomingMessage } from "node:http";
import { request as askSecure, Agent as HttpsAgent } from "node:https";

export type UpstreamCallResult =
  | { readonly kind: "answered"; readonly answer: IncomingMessage }
  /** The API did not answer the call. `wasSent` says whether the API may have read the call. */
  | { readonly kind: "failed"; readonly why: string; readonly wasSent: boolean };

export interface ModelCallToSend {
  readonly method: string;
  /** The base URL of the model's API. */
  readonly url: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Uint8Array;
}

const connectMs = 30_000;

const agents = {
  plain: new HttpAgent({ keepAlive: true, keepAliveMsecs: 10_000, maxFreeSockets: 64 }),
  secure: new HttpsAgent({ keepAlive: true, keepAliveMsecs: 10_000, maxFreeSockets: 64 }),
};

/**
 * Sends a call to its model's API. Resolves when the headers of the answer arrive, or when the call has
 * failed.
 */
export async function sendModelCall(
  call: ModelCallToSend,
  abandoned: AbortSignal,
): Promise<UpstreamCallResult> {
  const sent = await sendOnce(call, abandoned, true);
  // Retries on a new connection if the server closed an idle connection just as the gateway reused it: the server has not
  // read the call.
  return sent.kind === "failed" && sent.wasClosedBefore ? sendOnce(call, abandoned, false) : sent;
}

type SentOnce = UpstreamCallResult & { readonly wasClosedBefore?: boolean };

function sendOnce(
  { method, url, target, headers, body }: ModelCallToSend,
  abandoned: AbortSignal,
  mayReuse: boolean,
): Promise<SentOnce> {
  const base = new URL(url);
  const isSecure = base.protocol === "https:";
  const options = {
    method,
    agent: mayReuse && (isSecure ? agents.secure : agents.plain),
    ...{ protocol: base.protocol, hostname: base.hostname.replace(/^\[|\]$/g, ""), port: base.port },
    path: `${base.pathname.replace(/\/$/, "")}${target}`,
    headers: { ...headers, host: base.host, "accept-encoding": "identity", ...lengthOf(method, body) },
    signal: abandoned,
  };
  return new Promise((resolve) => {
    const request = isSecure ? askSecure(options) : askPlain(options);
    let wasSent = false;
    const timer = setTimeout(() => request.destroy(new Error("the connection attempt timed out")), connectMs);
    // Once connected, bytes are in flight, and the gateway cannot know whether they arrive.
    const connected = (): void => {
      clearTimeout(timer);
      wasSent = true;
    };
    request.once("socket", (socket) => {
      if (!socket.connecting) connected();
      else socket.once(isSecure ? "secureConnect" : "connect", connected);
    });
    request.once("response", (answer) => resolve({ kind: "answered", answer }));
    request.on("error", (error: NodeJS.ErrnoException) => {
      const isReset = error.code === "ECONNRESET" || error.code === "EPIPE";
      const wasClosedBefore = isReset && request.reusedSocket && !abandoned.aborted;
      resolve({ kind: "failed", why: error.code ?? error.message, wasSent, wasClosedBefore });
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
