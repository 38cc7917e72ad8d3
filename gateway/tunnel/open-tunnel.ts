import type { Duplex } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import type { AllowedHost, RefusalReason } from "../../src/contract/gateway.ts";
import { parseAllowList } from "../../src/egress/allow-list.ts";
import { sanitizeText } from "../../src/text/sanitize-text.ts";
import type { AccessReports } from "../http/access-reports.ts";
import { closeConnectionWithStatus } from "../http/close-connection.ts";
import { isPublicAddress } from "../mirror/public-address.ts";
import { awaitClientHello } from "./await-client-hello.ts";

export interface TunnelDeps extends AccessReports {
  readonly allow: readonly AllowedHost[];
  readonly resolve: (host: string) => Promise<readonly string[]>;
  /** Opens a TCP connection to an address. Rejects if the connection takes too long. */
  readonly connect: (address: string, port: number) => Promise<Duplex>;
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
    const body = `swarm: ${judged.message}\n`;
    const headers = ["content-type: text/plain; charset=utf-8", `content-length: ${Buffer.byteLength(body)}`];
    closeConnectionWithStatus(client, deps.helloMs, judged.status, headers, body);
    return void (await finished(client).catch(() => {}));
  }

  if (client.destroyed) return;
  const { target, what, addresses } = judged;
  client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
  const hello = await awaitClientHello(client, head, deps.helloMs);
  if (deps.signal.aborted) return;
  if (hello === null) return deps.refuse(what, "not-tls");
  if (hello.serverName === null) return deps.refuse(what, "no-name");
  if (hello.serverName !== target.host) return deps.refuse(what, "wrong-name");

  const upstream = await connectToAny(addresses, target.port, client, deps);
  if (upstream === null) return client.destroyed ? undefined : deps.refuse(what, "unreachable");
  const bytes = await join(client, upstream, hello.bytes, deps.signal);
  deps.onEnded({ ...target, ...bytes, ms: Math.round(performance.now() - begun) });
}

type Judged =
  | {
      readonly kind: "target";
      readonly target: AllowedHost;
      readonly what: string;
      readonly addresses: readonly string[];
    }
  | {
      readonly kind: "refused";
      readonly what: string;
      readonly why: RefusalReason;
      /** The HTTP status with its name. */
      readonly status: string;
      readonly message: string;
    };

async function judgeTarget(authority: string, { allow, resolve }: TunnelDeps): Promise<Judged> {
  const target = parseAuthority(authority);
  const what = target === null ? sanitizeText(authority) : `${target.host}:${target.port}`;
  const refused = (why: RefusalReason, status: string, message: string): Judged => ({
    kind: "refused",
    what,
    why,
    status,
    message,
  });
  if (target === null)
    return refused("form", "400 Bad Request", "CONNECT needs a target of the form host:port");
  if (!allow.some(({ host, port }) => host === target.host && port === target.port)) {
    const remedy =
      parseAllowList([what]).problems.length > 0
        ? "only fully qualified host names can be allowed"
        : `swarm start --allow ${what} allows the host`;
    return refused("not-allowed", "403 Forbidden", `${what} is not allowed; ${remedy}`);
  }
  const addresses = await resolve(target.host).catch(() => []);
  if (addresses.length === 0) return refused("not-found", "502 Bad Gateway", `${what} has no address`);
  // Refuses a host even if only one of its addresses is private, because the DNS server also chooses the order of the
  // addresses.
  if (!addresses.every(isPublicAddress))
    return refused("not-public", "403 Forbidden", `${what} has an address that is not public`);
  return { kind: "target", target, what, addresses };
}

function parseAuthority(authority: string): AllowedHost | null {
  const [, host = "", port = ""] = /^([a-z0-9.-]{1,253}):([1-9]\d{0,4})$/i.exec(authority) ?? [];
  if (host === "" || /^\.|\.\.|\.$/.test(host) || Number(port) > 65_535) return null;
  return { host: host.toLowerCase(), port: Number(port) };
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
