import type { Mirror, RefusalReason } from "../../src/contract/gateway.ts";
import { normalizedRegistryUrl } from "./mirror-rules.ts";
import {
  NonPublicHostError,
  type SendUpstreamRequest,
  type UpstreamAnswer,
  type UpstreamRequest,
} from "./upstream-request.ts";

export type RedirectResult =
  | { readonly kind: "answer"; readonly answer: UpstreamAnswer }
  /** The registry redirects to another of its own paths, and the client may follow the redirect itself. */
  | { readonly kind: "moved"; readonly status: number; readonly rest: string }
  | { readonly kind: "refused"; readonly why: RefusalReason; readonly message: string };

const maxRedirects = 3;
const redirects: readonly number[] = [301, 302, 303, 307, 308];

/**
 * Sends a request to a registry and follows its redirects, because the sandbox cannot reach their targets.
 * After the first redirect to another host, sends no more credentials, not even to the registry itself.
 */
export async function followRedirects(
  ask: SendUpstreamRequest,
  mirror: Mirror,
  question: Omit<UpstreamRequest, "mustBePublic">,
  { isFollowed }: { isFollowed: boolean },
): Promise<RedirectResult> {
  const home = new URL(mirror.url).origin;
  let { url } = question;
  let isTrusted = true;
  for (let followed = 0; ; followed += 1) {
    const isHome = url.origin === home;
    isTrusted &&= isHome;
    const headers = isTrusted ? withOwn(mirror, question.headers) : question.headers;
    let answer: UpstreamAnswer;
    try {
      answer = await ask({ ...question, url, headers, mustBePublic: !isHome });
    } catch (error) {
      if (!(error instanceof NonPublicHostError))
        return refused("unreachable", `${mirror.name} cannot be reached`);
      return refused("not-public", `${mirror.name} redirects to a host without a public address`);
    }
    if (!redirects.includes(answer.status)) return { kind: "answer", answer };

    answer.body.on("error", () => {}).destroy();
    const next = URL.parse(answer.headers.location ?? "", url.href);
    if (next === null || answer.headers.location === undefined)
      return refused("not-allowed", `${mirror.name} sent a redirect without a valid Location header`);
    if (!isFollowed || question.method === "POST") return movedWithin(mirror, answer.status, next);
    if (followed === maxRedirects) return refused("not-allowed", `${mirror.name} redirects too often`);
    if (next.origin !== home && next.protocol !== "https:")
      return refused("not-allowed", `${mirror.name} redirects to a URL without TLS`);
    url = new URL(`${next.origin}${next.pathname}${next.search}`);
  }
}

function movedWithin(mirror: Mirror, status: number, next: URL): RedirectResult {
  const beginning = normalizedRegistryUrl(mirror);
  const target = `${next.origin}${next.pathname}${next.search}`;
  if (!target.startsWith(`${beginning}/`))
    return refused("not-allowed", `${mirror.name} redirects to a URL outside its own base URL`);
  return { kind: "moved", status, rest: target.slice(beginning.length) };
}

function withOwn({ headers }: Mirror, requested: Readonly<Record<string, string>>): Record<string, string> {
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  if (own.length === 0) return { ...requested };
  // Requests a whole and uncompressed answer, because the gateway could not remove the credential from a partial or
  // compressed one.
  const { range: _, ...whole } = requested;
  return { ...whole, "accept-encoding": "identity", ...Object.fromEntries(own) };
}

function refused(why: RefusalReason, message: string): RedirectResult {
  return { kind: "refused", why, message };
}
