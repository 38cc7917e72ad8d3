import type { IncomingHttpHeaders } from "node:http";
import { mirrorUrls } from "../src/domain/egress.ts";
import type { Mirror, RefusalReason } from "../src/domain/generated/gateway.ts";

/** A request to a package registry that the gateway allows, and how to send it. */
export interface AllowedMirrorRequest {
  readonly kind: "question";
  readonly method: "GET" | "HEAD" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Whether the answer may contain URLs of the registry, which the gateway must rewrite since the sandbox cannot
   * reach them.
   */
  readonly mayContainUrls: boolean;
  /** A path that must exist at the registry before the gateway sends the request; null if there is no such condition. */
  readonly requiredPath: string | null;
}

export interface RefusedMirrorRequest {
  readonly kind: "refused";
  readonly why: RefusalReason;
  readonly status: number;
  readonly message: string;
}

/**
 * The kind of a mirror, as the first word of the mirror's name states it, such as `npm` in `npm-acme`. `files`: any
 * other name.
 */
export type MirrorKind = "npm" | "go" | "github" | "files";

interface MirrorRequest {
  readonly method: string;
  /** The request's path and query, without the mirror's prefix. */
  readonly rest: string;
  readonly headers: IncomingHttpHeaders;
}

const maxPathLength = 2_000;
/** Matches spellings of a path that another server could read as a different path, however many times it decodes the path. */
const ambiguous = /\/\/|[\\#;]|\/\.{1,2}(?:\/|$)|%(?![2-7][0-9a-f])|%(?:25|2e|2f|3b|5c|7f)/i;
/** Matches a scoped package's name that is written with `%2f`, which npm registries accept. */
const scopedPackage = /^(\/@[a-z0-9._~-]+)%2f(?=[a-z0-9._~-])/i;
const repositoryPath =
  /^\/[A-Za-z0-9][\w-]{0,99}\/[\w.-]{1,100}\/(info\/refs\?service=git-upload-pack|git-upload-pack)$/;
const checksumPath =
  /^\/sumdb\/sum\.golang\.org\/(?:supported|latest|tile\/[\w/.]+|lookup\/([^@?]+)@([^@?/]+))$/;

const passedHeaders = ["accept", "user-agent", "if-none-match", "if-modified-since"];
const bodyHeaders = ["content-type", "content-length", "content-encoding"];

export function mirrorKind(name: string): MirrorKind {
  const [word] = name.split("-");
  return word === "npm" || word === "go" || word === "github" ? word : "files";
}

/** Returns the normalised URL of the mirror's registry, without a trailing slash. */
export function registryUrlOf({ url }: Mirror): string {
  return new URL(url).href.replace(/\/+$/, "");
}

/** Allows a request that only reads from the registry and says how to send it. Refuses all others. */
export function judgeMirrorRequest(
  mirror: Mirror,
  request: MirrorRequest,
): AllowedMirrorRequest | RefusedMirrorRequest {
  const { method, rest, headers } = request;
  const kind = mirrorKind(mirror.name);
  if (!isPlain(kind, rest)) return refused("path", 400, "the path of the request is ambiguous");
  if (kind === "github") return judgeGit(request);
  if (method !== "GET" && method !== "HEAD")
    return refused("method", 405, "the registry is read-only: only GET and HEAD are allowed");
  if (hasBody(headers)) return refused("form", 400, "a request to the registry must not have a body");
  if (kind === "go") return judgeGo(method, rest, headers);

  const mayContainUrls =
    kind === "npm" && !/\.tgz(?:\?|$)/.test(rest) && !replacesHostItself(mirror, headers);
  const passed = pick(headers, mayContainUrls ? passedHeaders : [...passedHeaders, "range"]);
  const encoding = mayContainUrls ? "identity" : (headers["accept-encoding"] ?? "identity");
  return {
    kind: "question",
    method,
    headers: { ...passed, "accept-encoding": String(encoding) },
    mayContainUrls,
    requiredPath: null,
  };
}

/**
 * Whether the client is an npm that replaces the default registry's host by the configured one, as versions from 7 on
 * do. Such an npm writes the default host into lock files. If the gateway rewrote URLs for it, the lock files would
 * contain them, with a worker's token.
 */
function replacesHostItself(mirror: Mirror, headers: IncomingHttpHeaders): boolean {
  const isDefault = registryUrlOf(mirror) === mirrorUrls["npm"];
  return isDefault && /^npm\/(?:[7-9]|\d\d)\./.test(headers["user-agent"] ?? "");
}

function isPlain(kind: MirrorKind, rest: string): boolean {
  if (rest.length > maxPathLength || !/^\/[\x21-\x7e]*$/.test(rest)) return false;
  const query = rest.indexOf("?");
  const path = query < 0 ? rest : rest.slice(0, query);
  if (query >= 0 && /[\\#]/.test(rest.slice(query))) return false;
  return !ambiguous.test(kind === "npm" ? path.replace(scopedPackage, "$1/") : path);
}

/** Allows the requests of git's clone and fetch. Refuses a push, which uses another service name. */
function judgeGit({ method, rest, headers }: MirrorRequest): AllowedMirrorRequest | RefusedMirrorRequest {
  const [, service] = repositoryPath.exec(rest) ?? [];
  if (service === undefined) return refused("path", 403, "only git clone and git fetch are allowed");
  const isPack = service === "git-upload-pack";
  if (method !== (isPack ? "POST" : "GET"))
    return refused("method", 405, "only git clone and git fetch are allowed");
  if (!isPack && hasBody(headers)) return refused("form", 400, "the git request must not have a body");
  const names = [...passedHeaders, "accept-encoding", "git-protocol", ...(isPack ? bodyHeaders : [])];
  return {
    kind: "question",
    method: isPack ? "POST" : "GET",
    headers: pick(headers, names),
    mayContainUrls: false,
    requiredPath: null,
  };
}

/**
 * Allows requests for modules that Go's proxy has cached. The proxy would fetch any other module from the host in the
 * module's name, so a sandbox could send data to that host in the name. The checksum database has no such option, so
 * the gateway asks it only about versions that the proxy has.
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
  return {
    kind: "question",
    method,
    headers: {
      ...pick(headers, [...passedHeaders, "range", "accept-encoding"]),
      "disable-module-fetch": "true",
    },
    mayContainUrls: false,
    requiredPath: module && version ? `/${module}/@v/${version}.mod` : null,
  };
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) !== 0;
}

function pick(headers: IncomingHttpHeaders, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}

function refused(why: RefusalReason, status: number, message: string): RefusedMirrorRequest {
  return { kind: "refused", why, status, message };
}
