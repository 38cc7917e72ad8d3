import type { IncomingHttpHeaders } from "node:http";
import type { Mirror, RefusalReason } from "../../src/contract/gateway.ts";
import { defaultRegistryUrls } from "../../src/egress/allow-list.ts";

/** An allowed request to a package registry, and how the gateway must send it. */
export interface AllowedMirrorRequest {
  readonly kind: "question";
  readonly method: "GET" | "HEAD" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Whether the answer may contain URLs of the registry. The gateway must rewrite such URLs, because the
   * sandbox cannot reach the registry.
   */
  readonly mayContainUrls: boolean;
  /**
   * A path that must exist at the registry before the gateway sends the request. Null if the request has no
   * such condition.
   */
  readonly requiredPath: string | null;
}

export interface RefusedMirrorRequest {
  readonly kind: "refused";
  readonly why: RefusalReason;
  readonly status: number;
  readonly message: string;
}

interface MirrorRequest {
  readonly method: string;
  /** The request's path and query after the prefix that selects the mirror. */
  readonly rest: string;
  readonly headers: IncomingHttpHeaders;
}

const maxPathLength = 2_000;
/**
 * Matches a path that the registry's server could read as a different path, for example after repeated
 * percent-decoding.
 */
const ambiguous = /\/\/|[\\#;]|\/\.{1,2}(?:\/|$)|%(?![2-7][0-9a-f])|%(?:25|2e|2f|3b|5c|7f)/i;
/** Matches a scoped npm package's name that is written with `%2f`. npm registries accept this form. */
const scopedPackage = /^(\/@[a-z0-9._~-]+)%2f(?=[a-z0-9._~-])/i;
const repositoryPath =
  /^\/[A-Za-z0-9][\w-]{0,99}\/[\w.-]{1,100}\/(info\/refs\?service=git-upload-pack|git-upload-pack)$/;
const checksumPath =
  /^\/sumdb\/sum\.golang\.org\/(?:supported|latest|tile\/[\w/.]+|lookup\/([^@?]+)@([^@?/]+))$/;

/** The refusal of a URL that the registry's server could read as a different one. */
export const ambiguousUrl: RefusedMirrorRequest = refused(
  "path",
  400,
  "the request's URL is too long, or its path is ambiguous (for example `..`, `//` or an encoded slash)",
);

const passedHeaders = ["accept", "user-agent", "if-none-match", "if-modified-since"];
const bodyHeaders = ["content-type", "content-length", "content-encoding"];

/** Returns the kind of a registry mirror: the first word of its name, such as `npm` in `npm-acme`. */
export function mirrorKind({ name }: Mirror): string | undefined {
  return name.split("-")[0];
}

/** Returns the normalised URL of the registry that the mirror stands for, without a trailing slash. */
export function normalizedRegistryUrl({ url }: Mirror): string {
  return new URL(url).href.replace(/\/+$/, "");
}

/**
 * Allows a request that only reads from the registry, and returns how to send it. Refuses all other requests.
 */
export function checkMirrorRequest(
  mirror: Mirror,
  request: MirrorRequest,
): AllowedMirrorRequest | RefusedMirrorRequest {
  const { method, rest, headers } = request;
  const kind = mirrorKind(mirror);
  if (!isPlain(kind === "npm", rest)) return ambiguousUrl;
  if (kind === "github") return judgeGit(request);
  if (method !== "GET" && method !== "HEAD")
    return refused("method", 405, "the registry is read-only: only GET and HEAD are allowed");
  if (hasBody(headers)) return refused("form", 400, "a request to the registry must not have a body");
  if (kind === "go") return judgeGo(method, rest, headers);

  const mayContainUrls =
    kind === "npm" && !/\.tgz(?:\?|$)/.test(rest) && !replacesHostItself(mirror, headers);
  const passed = pick(headers, mayContainUrls ? passedHeaders : [...passedHeaders, "range"]);
  const encoding = mayContainUrls ? "identity" : (headers["accept-encoding"] ?? "identity");
  return allowed(method, { ...passed, "accept-encoding": String(encoding) }, { mayContainUrls });
}

/**
 * Whether the client itself replaces the registry's host in URLs, as npm 7 and later do for the default
 * registry. The gateway must then rewrite no URLs: npm would write them, with a worker's token, into lock
 * files.
 */
function replacesHostItself(mirror: Mirror, headers: IncomingHttpHeaders): boolean {
  const isDefault = normalizedRegistryUrl(mirror) === defaultRegistryUrls["npm"];
  return isDefault && /^npm\/(?:[7-9]|\d\d)\./.test(headers["user-agent"] ?? "");
}

function isPlain(isNpm: boolean, rest: string): boolean {
  if (rest.length > maxPathLength || !/^\/[\x21-\x7e]*$/.test(rest)) return false;
  const [path = "", ...query] = rest.split("?");
  if (query.some((part) => /[\\#]/.test(part))) return false;
  return !ambiguous.test(isNpm ? path.replace(scopedPackage, "$1/") : path);
}

/**
 * Allows the requests of `git clone` and `git fetch`. Refuses all other requests, such as those of `git
 * push`.
 */
function judgeGit({ method, rest, headers }: MirrorRequest): AllowedMirrorRequest | RefusedMirrorRequest {
  const [, service] = repositoryPath.exec(rest) ?? [];
  if (service === undefined) return refused("path", 403, "only git clone and git fetch are allowed");
  const isPack = service === "git-upload-pack";
  const wanted = isPack ? "POST" : "GET";
  if (method !== wanted) return refused("method", 405, "only git clone and git fetch are allowed");
  if (!isPack && hasBody(headers)) return refused("form", 400, "the git request must not have a body");
  const names = [...passedHeaders, "accept-encoding", "git-protocol", ...(isPack ? bodyHeaders : [])];
  return allowed(wanted, pick(headers, names));
}

/**
 * Allows only requests for modules that Go's proxy has cached. For other modules, the proxy contacts the host
 * in the module's name, so a sandbox could send data out through that name. The checksum database has no such
 * restriction, so the gateway asks it only about versions that the proxy has.
 */
function judgeGo(
  method: "GET" | "HEAD",
  rest: string,
  headers: IncomingHttpHeaders,
): AllowedMirrorRequest | RefusedMirrorRequest {
  const checksum = checksumPath.exec(rest);
  if (/^\/sumdb(?:[/?]|$)/.test(rest) && !checksum)
    return refused("path", 403, "the only allowed checksum database is sum.golang.org");
  const [, module, version] = checksum ?? [];
  const passed = pick(headers, [...passedHeaders, "range", "accept-encoding"]);
  return allowed(
    method,
    { ...passed, "disable-module-fetch": "true" },
    { requiredPath: module && version ? `/${module}/@v/${version}.mod` : null },
  );
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) !== 0;
}

function pick(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}

function allowed(
  method: AllowedMirrorRequest["method"],
  headers: AllowedMirrorRequest["headers"],
  more: Partial<Pick<AllowedMirrorRequest, "mayContainUrls" | "requiredPath">> = {},
): AllowedMirrorRequest {
  return { kind: "question", method, headers, mayContainUrls: false, requiredPath: null, ...more };
}

export function refused(why: RefusalReason, status: number, message: string): RefusedMirrorRequest {
  return { kind: "refused", why, status, message };
}
