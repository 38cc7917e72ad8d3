import { request as askPlain, Agent as HttpAgent, type IncomingMessage } from "node:http";
import { request as askSecure, Agent as HttpsAgent } from "node:https";

export type Sent =
  | { readonly kind: "answered"; readonly answer: IncomingMessage }
  /** `wasSent`: somebody may have read it. */
  | { readonly kind: "failed"; readonly why: string; readonly wasSent: boolean };

export interface CallToSend {
  readonly method: string;
  /** The address of the API, below which the path stands. */
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

/** Sends a call to its model; resolves once it answers, or cannot any more. */
export async function sendCall(call: CallToSend, gone: AbortSignal): Promise<Sent> {
  const sent = await sendOnce(call, gone, true);
  // It was closed as it was taken again: nobody has read anything of this.
  return sent.kind === "failed" && sent.wasClosedBefore ? sendOnce(call, gone, false) : sent;
}

type SentOnce = Sent & { readonly wasClosedBefore?: boolean };

function sendOnce(
  { method, url, target, headers, body }: CallToSend,
  gone: AbortSignal,
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
    signal: gone,
  };
  return new Promise((resolve) => {
    const asking = isSecure ? askSecure(options) : askPlain(options);
    let wasSent = false;
    const patience = setTimeout(() => asking.destroy(new Error("it does not answer")), connectMs);
    // From then on bytes are under way, and when the last of them has arrived nobody here can tell.
    const connected = (): void => {
      clearTimeout(patience);
      wasSent = true;
    };
    asking.once("socket", (socket) => {
      if (!socket.connecting) connected();
      else socket.once(isSecure ? "secureConnect" : "connect", connected);
    });
    asking.once("response", (answer) => resolve({ kind: "answered", answer }));
    asking.on("error", (error: NodeJS.ErrnoException) => {
      const isReset = error.code === "ECONNRESET" || error.code === "EPIPE";
      const wasClosedBefore = isReset && asking.reusedSocket && !gone.aborted;
      resolve({ kind: "failed", why: error.code ?? error.message, wasSent, wasClosedBefore });
    });
    asking.once("close", () => {
      clearTimeout(patience);
      // An answer that switches to another protocol is neither an answer nor an error.
      resolve({ kind: "failed", why: "it gave no answer", wasSent });
    });
    asking.end(body);
  });
}

/** What has no body must not announce one: some servers take that for the beginning of the next request. */
function lengthOf(method: string, body: Uint8Array): Record<string, number> {
  return body.length === 0 && method !== "POST" ? {} : { "content-length": body.length };
}
