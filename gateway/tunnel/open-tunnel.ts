import type { Duplex } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import type { AllowedHost, RefusalReason } from "../../src/contract/gateway.ts";
import { parseAllowList } from "../../src/egress/allow-list.ts";
import { sanitizeText } from "../../src/text/sanitize-text.ts";
import { isPublicAddress } from "../mirror/public-address.ts";
import { awaitClientHello } from "./await-client-hello.ts";

export interface TunnelTraffic extends AllowedHost {
  /** The number of bytes that the tunnel forwarded from the sandbox to the target host. */
  readonly bytesIn: number;
  /** The number of bytes that the tunnel forwarded from the target host to the sandbox. */
  readonly bytesOut: number;
  readonly ms: number;
}

export interface TunnelDeps {
  readonly allow: readonly AllowedHost[];
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /** Opens a TCP connection to an address. Rejects if the connection takes too long. */
  readonly connect: (address: string, port: number) => Promise<Duplex>;
  readonly refuse: (what: string, why: RefusalReason) => void;
  /** Called when a tunnel ends, once for each tunnel that was connected to its target host. */
  readonly onEnded: (facts: TunnelTraffic) => void;
  /**
   * Aborts when swarm revokes the worker's access. The gateway then closes the tunnel's connections to the
   * sandbox and to the target host.
   */
  readonly signal: AbortSignal;
  /**
   * How long the gateway waits, in milliseconds, for the client's TLS hello, or for the client to read a
   * refusal.
   */
  readonly helloMs: number;
}

/** The maximum number of a target host's addresses that the gateway tries, one after another. */
const maxAddresses = 4;

/**
 * Serves one CONNECT request of an authenticated worker, until the tunnel ends. The target host must be on
 * the worker's allow list, all its addresses must be on the public internet, and the TLS hello must request
 * the same host name. The gateway connects only to an address that it has checked, because a second DNS
 * lookup could return another address (DNS rebinding).
 */
export async function openTunnel(
  client: Duplex,
  head: Buffer,
  authority: string,
  deps: TunnelDeps,
): Promise<void> {
  const destroyClient = (): void => void client.destroy();
  client.on("error", destroyClient);
  deps.signal.addEventListener("abort", destroyClient, { once: true });
  try {
    if (deps.signal.aborted) client.destroy();
    else await serveTunnel(client, head, authority, deps);
  } finally {
    deps.signal.removeEventListener("abort", destroyClient);
    client.destroy();
  }
}

async function serveTunnel(client: Duplex, head: Buffer, authority: string, deps: TunnelDeps): Promise<void> {
  const begun = performance.now();
  const judged = await judgeTarget(authority, deps);
  if (deps.signal.aborted) return;
  if (judged.kind === "refused") {
    deps.refuse(judged.what, judged.why);
    return answer(client, judged.status, `swarm: ${judged.message}\n`, deps.helloMs);
  }

  if (client.destroyed) return;
  const { target, addresses } = judged;
  const what = nameOf(target);
  client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
  const hello = await awaitClientHello(client, head, deps.helloMs);
  if (deps.signal.aborted) return;
  if (hello.kind === "none") return deps.refuse(what, "not-tls");
  if (hello.serverName === null) return deps.refuse(what, "no-name");
  if (hello.serverName !== target.host) return deps.refuse(what, "wrong-name");

  const upstream = await connectToAny(addresses, target.port, client, deps);
  if (upstream === null) return client.destroyed ? undefined : deps.refuse(what, "unreachable");
  const bytes = await join(client, upstream, hello.bytes, deps.signal);
  deps.onEnded({ ...target, ...bytes, ms: Math.round(performance.now() - begun) });
}

type Judged =
  | { readonly kind: "target"; readonly target: AllowedHost; readonly addresses: readonly string[] }
  | {
      readonly kind: "refused";
      readonly what: string;
      readonly why: RefusalReason;
      readonly status: number;
      readonly message: string;
    };

async function judgeTarget(authority: string, { allow, resolve }: TunnelDeps): Promise<Judged> {
  const target = parseAuthority(authority);
  if (target === null) {
    const message = "CONNECT needs a target of the form host:port";
    return { kind: "refused", what: sanitizeText(authority), why: "form", status: 400, message };
  }
  const what = nameOf(target);
  const refused = (why: RefusalReason, status: number, message: string): Judged => {
    return { kind: "refused", what, why, status, message };
  };
  if (!allow.some(({ host, port }) => host === target.host && port === target.port)) {
    const [problem] = parseAllowList([what]).problems;
    if (problem)
      return refused(
        "not-allowed",
        403,
        `${what} is not allowed; only fully qualified host names can be allowed`,
      );
    return refused("not-allowed", 403, `${what} is not allowed; swarm start --allow ${what} allows the host`);
  }
  const addresses = await resolve(target.host).catch(() => []);
  if (addresses.length === 0) return refused("not-found", 502, `${what} has no address`);
  // Refuses a host even if only one of its addresses is private, because the DNS server also chooses the order of the
  // addresses.
  if (!addresses.every(isPublicAddress))
    return refused("not-public", 403, `${what} has an address that is not public`);
  return { kind: "target", target, addresses };
}

function parseAuthority(authority: string): AllowedHost | null {
  const [, host = "", port = ""] = /^([a-z0-9.-]{1,253}):([1-9]\d{0,4})$/i.exec(authority) ?? [];
  if (host === "" || /^\.|\.\.|\.$/.test(host) || Number(port) > 65_535) return null;
  return { host: host.toLowerCase(), port: Number(port) };
}

function nameOf({ host, port }: AllowedHost): string {
  return `${host}:${port}`;
}

/**
 * Refuses the client's CONNECT request with an HTTP status. Destroys the connection if the client neither
 * reads the answer nor disconnects within `patienceMs`.
 */
async function answer(client: Duplex, status: number, body: string, patienceMs: number): Promise<void> {
  const reasons: Readonly<Record<number, string>> = {
    400: "Bad Request",
    403: "Forbidden",
    502: "Bad Gateway",
  };
  const head = [
    `HTTP/1.1 ${status} ${reasons[status]}`,
    "content-type: text/plain; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ].join("\r\n");
  const timer = setTimeout(() => client.destroy(), patienceMs);
  // Reads the rest of the input: closing with unread bytes would reset the connection, and the client would lose the
  // answer.
  client.resume();
  client.end(`${head}\r\n\r\n${body}`);
  await finished(client).catch(() => {});
  clearTimeout(timer);
}

async function connectToAny(
  addresses: readonly string[],
  port: number,
  client: Duplex,
  { connect }: TunnelDeps,
): Promise<Duplex | null> {
  for (const address of addresses.slice(0, maxAddresses)) {
    if (client.destroyed) return null;
    const upstream = await connect(address, port).catch(() => null);
    if (upstream === null) continue;
    upstream.on("error", () => {});
    if (!client.destroyed) return upstream;
    upstream.destroy();
  }
  return null;
}

/**
 * Forwards bytes between client and target host with back-pressure, until both directions have ended or one
 * has failed.
 */
async function join(
  client: Duplex,
  upstream: Duplex,
  first: Buffer,
  signal: AbortSignal,
): Promise<{ bytesIn: number; bytesOut: number }> {
  let bytesIn = first.length;
  let bytesOut = 0;
  upstream.write(first);
  client.on("data", (piece: Buffer) => {
    bytesIn += piece.length;
  });
  const inward = pipeline(client, upstream, { signal });
  upstream.on("data", (piece: Buffer) => {
    bytesOut += piece.length;
  });
  const outward = pipeline(upstream, client, { signal });
  const done = await Promise.allSettled([inward, outward]);
  if (done.some(({ status }) => status === "rejected")) client.destroy();
  upstream.destroy();
  return { bytesIn, bytesOut };
}
