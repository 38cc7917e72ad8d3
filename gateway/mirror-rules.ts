import type { IncomingHttpHeaders } from "node:http";
import { mirrorUrls } from "../src/domain/egress.ts";
import type { Mirror, RefusalReason } from "../src/domain/generated/gateway.ts";

/** An allowed request to a registry. */
export interface MirrorQuestion {
  readonly kind: "question";
  readonly method: "GET" | "HEAD" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the answer may contain URLs of the registry, which the sandbox cannot reach. */
  readonly mayContainUrls: boolean;
  /** A path that must exist for the request to be sent; null for no such condition. */
  readonly requiredPath: string | null;
}

export interface MirrorRefusal {
  readonly kind: "refused";
  readonly why: RefusalReason;
  readonly status: number;
  readonly message: string;
}

/** The kind of a mirror, by the first word of its name: `npm`, `npm-acme`, `go`, `github`; else plain files. */
export type MirrorKind = "npm" | "go" | "github" | "files";

interface MirrorRequest {
  readonly method: string;
  /** The path and query. */
  readonly rest: string;
  readonly headers: IncomingHttpHeaders;
}

const maxPathLength = 2_000;
/** Spellings that another server could read as a different path, after decoding any number of times. */
const ambiguous = /\/\/|[\\#;]|\/\.{1,2}(?:\/|$)|%(?![2-7][0-9a-f])|%(?:25|2e|2f|3b|5c|7f)/i;
/** npm registries accept a scoped package's name like this. */
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

/** The normalised URL, without a trailing slash. */
export function mirrorAddress({ url }: Mirror): string {
  return new URL(url).href.replace(/\/+$/, "");
}

/** Allows a request that only reads, and says how to send it; refuses all others. */
export function judgeMirrorRequest(mirror: Mirror, request: MirrorRequest): MirrorQuestion | MirrorRefusal {
  const { method, rest, headers } = request;
  const kind = mirrorKind(mirror.name);
  if (!isPlain(kind, rest)) return refused("path", 400, "this path is ambiguous");
  if (kind === "github") return judgeGit(request);
  if (method !== "GET" && method !== "HEAD")
    return refused("method", 405, "this registry can only be read, with GET and HEAD");
  if (hasBody(headers)) return refused("form", 400, "a request to this registry can have no body");
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
 * npm from version 7 on replaces its default registry's host by the configured one when it downloads, and writes
 * the default into lock files. Rewritten URLs would end up in lock files, with a worker's token in them.
 */
function replacesHostItself(mirror: Mirror, headers: IncomingHttpHeaders): boolean {
  const isDefault = mirrorAddress(mirror) === mirrorUrls["npm"];
  return isDefault && /^npm\/(?:[7-9]|\d\d)\./.test(headers["user-agent"] ?? "");
}

function isPlain(kind: MirrorKind, rest: string): boolean {
  if (rest.length > maxPathLength || !/^\/[\x21-\x7e]*$/.test(rest)) return false;
  const query = rest.indexOf("?");
  const path = query < 0 ? rest : rest.slice(0, query);
  if (query >= 0 && /[\\#]/.test(rest.slice(query))) return false;
  return !ambiguous.test(kind === "npm" ? path.replace(scopedPackage, "$1/") : path);
}

/** Allows the requests of clone and fetch. A push uses another service name. */
function judgeGit({ method, rest, headers }: MirrorRequest): MirrorQuestion | MirrorRefusal {
  const [, service] = repositoryPath.exec(rest) ?? [];
  if (service === undefined) return refused("path", 403, "only clone and fetch are allowed");
  const isPack = service === "git-upload-pack";
  if (method !== (isPack ? "POST" : "GET")) return refused("method", 405, "only clone and fetch are allowed");
  if (!isPack && hasBody(headers)) return refused("form", 400, "this request can have no body");
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
 * Go's proxy fetches an unknown module from the host in the module's name: a sandbox could send data to that
 * host's owner in the name. So the request allows only modules that the proxy has cached. The checksum database
 * has no such option; it is asked about a version only when the proxy has it.
 */
function judgeGo(
  method: "GET" | "HEAD",
  rest: string,
  headers: IncomingHttpHeaders,
): MirrorQuestion | MirrorRefusal {
  const checksum = checksumPath.exec(rest);
  if (/^\/sumdb(?:[/?]|$)/.test(rest) && !checksum)
    return refused("path", 403, "of the databases of checksums, only sum.golang.org is read");
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

function refused(why: RefusalReason, status: number, message: string): MirrorRefusal {
  return { kind: "refused", why, status, message };
}
