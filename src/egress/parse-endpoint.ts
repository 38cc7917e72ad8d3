import { parseSecretReference, secretReferenceSyntax } from "../secrets/rules/secret-reference.ts";

/** The model APIs that the gateway supports, named after their providers. */
export const modelApis = ["anthropic", "openai", "google"] as const;
export type ModelApi = (typeof modelApis)[number];

/**
 * The two parts of a header's value: the text before the secret, such as `Bearer `, and the reference to the
 * secret.
 */
export interface HeaderTemplate {
  readonly before: string;
  readonly reference: string;
}

/**
 * A server that the gateway calls, as the settings describe it, with the headers that authenticate the
 * gateway at this server.
 */
export interface ParsedUpstream {
  readonly kind: "address";
  readonly name: string;
  readonly url: string;
  /** The headers that authenticate the gateway at the server, by header name in lower case. */
  readonly headers: Readonly<Record<string, HeaderTemplate>>;
  readonly api: ModelApi | null;
  /**
   * The names of headers and query parameters that the gateway also forwards, in addition to those that
   * known agents send. Each name is listed twice: as written, and in lower case.
   */
  readonly pass: readonly string[];
}

interface Refusal {
  readonly kind: "refused";
  readonly reason: string;
}

export const modelEndpointSyntax =
  "name=url[,header=Name:reference][,api=anthropic|openai|google][,pass=Name]";
export const packageRegistrySyntax = "preset=url[,header=Name:reference]";

const maxLength = 4_000;
const maxUrlLength = 2_000;

/**
 * Parses one entry of the setting for model endpoints:
 * `name=url[,header=Name:reference][,api=…][,pass=Name]`.
 */
export function parseModelEndpoint(text: string): ParsedUpstream | Refusal {
  return parseAddress(text, modelEndpointSyntax);
}

/** Parses one entry of the setting for registries: `preset=url[,header=Name:reference]`. */
export function parsePackageRegistry(text: string): ParsedUpstream | Refusal {
  return parseAddress(text, packageRegistrySyntax);
}

/**
 * Returns the name from an endpoint's or a registry's entry in the settings. Only the name is safe to show,
 * because the rest may contain a misplaced secret.
 */
export function redactEndpoint(text: string): string {
  const [, name] = /^([a-z][a-z0-9-]{0,39})=/.exec(text) ?? [];
  return name === undefined ? "…" : `${name}=…`;
}

/**
 * Parses a base URL and removes slashes at its end. If the gateway cannot call the URL, returns a
 * description of the expected form instead.
 */
export function parseBaseUrl(text: string): { readonly url: string } | Refusal {
  const url = URL.canParse(text) && text.length <= maxUrlLength ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    return refused("an address that begins with http:// or https://");
  if (url.username || url.password) return refused("an address without a user name or a password");
  if (url.search || url.hash) return refused("an address without a query (?) and without a fragment (#)");
  if (isThisMachine(url.hostname))
    return refused(
      "an address that a container can reach: in a container, `localhost` means the container, so write this machine's network address",
    );
  return { url: url.href.replace(/\/+$/, "") };
}

function parseAddress(text: string, form: string): ParsedUpstream | Refusal {
  const isModel = form === modelEndpointSyntax;
  const [, name, rest = ""] = /^([a-z][a-z0-9-]{0,39})=(.*)$/s.exec(text) ?? [];
  // Refuse an address with a comma: the part after the comma is probably a mistyped option.
  const [address = "", ...options] = rest.split(/,(?=(?:header|api|pass)=)/);
  if (name === undefined || text.length > maxLength || address.includes(",")) return refused(form);
  const url = parseBaseUrl(address);
  if ("kind" in url) return refused(`${form} with ${url.reason}`);

  const headers: Record<string, HeaderTemplate> = {};
  let api: ModelApi | null = null;
  const pass: string[] = [];
  for (const option of options) {
    if (option.startsWith("api=")) {
      const wanted = modelApis.find((known) => option === `api=${known}`);
      if (!isModel || wanted === undefined || api !== null) return refused(form);
      api = wanted;
      continue;
    }
    if (option.startsWith("pass=")) {
      const passed = option.slice("pass=".length);
      if (!isModel || !/^[A-Za-z0-9_$-]{1,100}$/.test(passed) || neverPassed.has(passed.toLowerCase()))
        return refused(`${form}, where Name is a header or a query parameter that the gateway may forward`);
      // The gateway looks up headers in lower case, and query parameters as they are written: so add both forms.
      pass.push(...new Set([passed, passed.toLowerCase()]));
      continue;
    }
    const header = parseHeader(option.slice("header=".length));
    if ("kind" in header) return header;
    if (Object.hasOwn(headers, header.name)) return refused("each header at most once");
    headers[header.name] = header.plan;
  }
  return { kind: "address", name, ...url, headers, api, pass };
}

/** The names of headers that control the connection, and so cannot carry the gateway's credentials. */
const ofConnections: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "proxy-authorization",
  "proxy-connection",
]);

/**
 * The names of headers that the gateway never forwards from an agent. Some change the meaning of a request;
 * others change the encoding of the response, so that the gateway could not find leaked keys in it.
 */
const neverPassed: ReadonlySet<string> = new Set([
  ...ofConnections,
  "accept-encoding",
  "accept-charset",
  "range",
  "if-range",
  "cookie",
  "x-http-method-override",
  "x-http-method",
  "x-method-override",
  "x-original-url",
  "x-rewrite-url",
]);

/** Parses a header in the settings, written as `Name:reference` or `Name:Bearer reference`. */
function parseHeader(text: string): { readonly name: string; readonly plan: HeaderTemplate } | Refusal {
  const [, written = "", scheme, reference = ""] =
    /^([A-Za-z0-9-]{1,100}): *(?:(Bearer|Basic|Token) +)?(.+)$/s.exec(text) ?? [];
  const name = written.toLowerCase();
  if (name === "" || ofConnections.has(name))
    return refused("header=Name:reference, with the name of a header that authenticates the gateway");
  const parsed = parseSecretReference(reference);
  if (parsed.kind === "refused")
    return refused(
      `header=Name:reference, where the reference is ${secretReferenceSyntax}; swarm refused this reference: ${parsed.reason}`,
    );
  return { name, plan: { before: scheme === undefined ? "" : `${scheme} `, reference } };
}

/**
 * Returns whether a host name or an IP address means the local machine. In a container, such a name would
 * mean the container itself.
 */
function isThisMachine(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$|\.$/g, "");
  return (
    /^(?:.*\.)?localhost$/.test(host) ||
    /^(?:127\.|0\.0\.0\.0$)/.test(host) ||
    /^::(?:1|ffff:7f.*)?$/.test(host)
  );
}

function refused(reason: string): Refusal {
  return { kind: "refused", reason };
}
