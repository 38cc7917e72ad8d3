import { request as askPlain, Agent as HttpAgent, type IncomingMessage } from "node:http";
import { request as askSecure, Agent as HttpsAgent } from "node:https";

export type Sent =
  | { readonly kind: "answered"; readonly answer: IncomingMessage }
  /** `wasSent`: the API may have read the call. */
  | { readonly kind: "failed"; readonly why: string; readonly wasSent: boolean };

export interface CallToSend {
  readonly method: string;
  /** The API's base URL. */
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

/** Sends a call to its model; resolves on the answer's headers or a failure. */
export async function sendCall(call: CallToSend, abandoned: AbortSignal): Promise<Sent> {
  const sent = await sendOnce(call, abandoned, true);
  // The server closed the idle connection just as it was reused, without reading the call: retry on a new one.
  return sent.kind === "failed" && sent.wasClosedBefore ? sendOnce(call, abandoned, false) : sent;
}

type SentOnce = Sent & { readonly wasClosedBefore?: boolean };

function sendOnce(
  { method, url, target, headers, body }: CallToSend,
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
    const timer = setTimeout(() => request.destroy(new Error("it does not answer")), connectMs);
    // From here on bytes are in flight, and the gateway cannot know whether they arrive.
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
      // A protocol switch (101) emits neither `response` nor `error`.
      resolve({ kind: "failed", why: "it gave no answer", wasSent });
    });
    request.end(body);
  });
}

/** States no length for a call without a body, except for POST: some servers take a length for the start of a request. */
function lengthOf(method: string, body: Uint8Array): Record<string, number> {
  return body.length === 0 && method !== "POST" ? {} : { "content-length": body.length };
}
