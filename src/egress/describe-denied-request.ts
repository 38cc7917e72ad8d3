import type { DeniedRequest } from "../contract/swarm-state.ts";
import { formatCount } from "../text/format-count.ts";
import { sanitizeText } from "../text/sanitize-text.ts";

/**
 * Describes a network request that the gateway denied to a worker, with the reason or with the flag that
 * would allow it.
 */
export function describeDeniedRequest(denied: DeniedRequest): string {
  const what = sanitizeText(denied.what, 200);
  const often = denied.times > 1 ? `, ${formatCount(denied.times, "time")}` : "";
  const flag = findAllowingFlag(denied);
  return `was denied ${what}${often}${flag === null ? whyWords(denied) : `; ${flag} allows this request`}`;
}

/** Returns the command-line flag that would allow a denied network request; null if no flag would. */
export function findAllowingFlag({ what, why }: Pick<DeniedRequest, "what" | "why">): string | null {
  if (why !== "not-allowed") return null;
  const [, host] = /^(?:CONNECT )?([a-z0-9.-]+\.[a-z][a-z0-9-]*:\d{1,5})$/i.exec(what) ?? [];
  const [, mirror] = /^[A-Z]+ \/r\/\*\/([a-z][a-z0-9-]*)\//.exec(what) ?? [];
  const word = host ?? mirror;
  return word === undefined ? null : `--allow ${word}`;
}

const words: Readonly<Record<string, string>> = {
  token: "the request did not contain a valid token of the worker",
  "not-allowed": "the request is not on the allow list",
  "no-name": "the TLS handshake did not contain exactly one host name (SNI)",
  "wrong-name": "the host name in the TLS handshake (SNI) differs from the host in the proxy request",
  "not-public": "the IP address of the requested host is not public",
  "not-found": "the requested host does not exist",
  "not-tls": "the connection did not use TLS",
  path: "the gateway does not serve this path",
  method: "the gateway allows only read requests to this path",
  form: "the request was malformed",
  budget: "the budget of the worker or of the swarm is used up",
  unreachable: "the gateway could not connect to the server",
};

function whyWords({ why }: DeniedRequest): string {
  return Object.hasOwn(words, why) ? `: ${words[why]}` : "";
}
