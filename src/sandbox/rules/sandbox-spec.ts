import type { SandboxSpecFile } from "../../contract/sandbox.ts";
import { isImageReference } from "../../engine/rules/image-reference.ts";
import { formatBytes, parseDurationMs, parseSizeBytes } from "../../text/duration-and-size.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";

const languages = ["python", "node", "bash"] as const;

/** The image in which a sandbox runs: swarm's own image for a language, or any other image. */
type SandboxRuntime =
  | { readonly kind: "language"; readonly language: (typeof languages)[number] }
  | { readonly kind: "image"; readonly image: string };

/**
 * The parsed content of a `sandbox.yaml`, with defaults for missing fields. Swarm records and shows the
 * permissions that its author declares, but does not enforce them.
 */
export interface SandboxSpec
  extends Required<
    Pick<
      SandboxSpecFile,
      "ttl" | "inputs" | "outputs" | "network" | "permissions" | "readOnlyRoot" | "privileged" | "isolation"
    >
  > {
  readonly name: string | null;
  readonly runtime: SandboxRuntime;
  readonly ttlMs: number;
  /** The sandbox's resource limits. If a field is null, the limit from the user's settings applies. */
  readonly resources: {
    readonly cpus: number | null;
    readonly memoryBytes: number | null;
    readonly diskBytes: number | null;
    readonly pids: number | null;
  };
  readonly env: Readonly<Record<string, string>>;
}

/**
 * A mistake in a `sandbox.yaml` that its author must correct; `pointer` is the JSON pointer of the wrong
 * value.
 */
interface SandboxSpecProblem {
  readonly pointer: string;
  readonly problem: string;
  readonly hint: string;
}

/**
 * A value in a `sandbox.yaml` that exposes the host. Swarm accepts the value only with this command-line flag
 * and this permission.
 */
export interface SandboxDanger {
  readonly what: string;
  readonly flag: "--dangerous-allow-host-network" | "--dangerous-allow-privileged";
  readonly permission: "hostNetwork" | "privileged";
}

const minTtlMs = 1000;
const maxTtlMs = 7 * 86_400_000;
const minSizeBytes = 16 * 1024 ** 2;
const maxSizeBytes = 16 * 1024 ** 4;
const maxEnvNameLength = 128;
const maxEnvValueBytes = 32 * 1024;

/** Converts a valid `sandbox.yaml` into a spec, with defaults for missing fields. */
export function toSandboxSpec(file: SandboxSpecFile): SandboxSpec {
  const { runtime = "bash", ttl = "30m", inputs = [], outputs = [], resources = {}, env = {} } = file;
  const { network = "none", permissions = {}, readOnlyRoot = false, privileged = false } = file;
  const language = languages.find((name) => name === runtime);
  return {
    name: file.name ?? null,
    runtime: language ? { kind: "language", language } : { kind: "image", image: runtime },
    ttl,
    ttlMs: parseDurationMs(ttl) ?? 0,
    inputs,
    outputs,
    resources: {
      cpus: resources.cpus ?? null,
      memoryBytes: bytesOf(resources.memory),
      diskBytes: bytesOf(resources.disk),
      pids: resources.pids ?? null,
    },
    network,
    env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)])),
    permissions,
    readOnlyRoot,
    privileged,
    isolation: file.isolation ?? "auto",
  };
}

function bytesOf(size: string | undefined): number | null {
  return size === undefined ? null : (parseSizeBytes(size) ?? null);
}

/**
 * Finds values in a sandbox's spec that expose the host. Each of them needs a command-line flag, so that a
 * `sandbox.yaml` alone cannot expose the host.
 */
export function findSandboxDangers({
  network,
  privileged,
}: Pick<SandboxSpec, "network" | "privileged">): SandboxDanger[] {
  const dangers: SandboxDanger[] = [];
  if (network === "host")
    dangers.push({
      what: "`network: host`",
      flag: "--dangerous-allow-host-network",
      permission: "hostNetwork",
    });
  if (privileged)
    dangers.push({
      what: "`privileged: true`",
      flag: "--dangerous-allow-privileged",
      permission: "privileged",
    });
  return dangers;
}

/**
 * Finds mistakes in a `sandbox.yaml` that the schema cannot express: in durations, sizes, image references,
 * globs, paths and variable names.
 */
export function findSandboxSpecProblems(file: SandboxSpecFile): SandboxSpecProblem[] {
  const { runtime, ttl, inputs = [], outputs = [], resources = {}, env = {} } = file;
  return [
    ...problemAt("/runtime", runtime, findReferenceProblem),
    ...problemAt("/ttl", ttl, findTtlProblem),
    ...inputs.flatMap((glob, index) => problemAt(`/inputs/${index}`, glob, findGlobProblem)),
    ...outputs.flatMap((path, index) => problemAt(`/outputs/${index}`, path, findOutputProblem)),
    ...problemAt("/resources/memory", resources.memory, findSizeProblem),
    ...problemAt("/resources/disk", resources.disk, findSizeProblem),
    ...findEnvProblems(env, "/env"),
  ];
}

/**
 * Finds invalid names and values of environment variables. `pointer` is the JSON pointer of the object that
 * contains the variables.
 */
export function findEnvProblems(
  env: Readonly<Record<string, string | number | boolean>>,
  pointer: string,
): SandboxSpecProblem[] {
  return Object.entries(env).flatMap(([name, value]) => [
    ...problemAt(`${pointer}/${escapeKey(name)}`, name, findEnvNameProblem),
    ...problemAt(`${pointer}/${escapeKey(name)}`, String(value), findEnvValueProblem),
  ]);
}

type Complaint = Pick<SandboxSpecProblem, "problem" | "hint">;

/**
 * Calls `find` with a value and returns the found problem with the value's JSON pointer, as an array. The
 * array is empty if the value is absent or valid.
 */
function problemAt(
  pointer: string,
  value: string | undefined,
  find: (value: string) => Complaint | undefined,
): SandboxSpecProblem[] {
  const complaint = value === undefined ? undefined : find(value);
  return complaint ? [{ pointer, ...complaint }] : [];
}

function findReferenceProblem(runtime: string): Complaint | undefined {
  if (isImageReference(runtime)) return undefined;
  return {
    problem: `${quoted(runtime)} is neither a supported language nor an image reference`,
    hint: "Write python, node, bash, or an image such as debian:12-slim or ghcr.io/owner/image@sha256:….",
  };
}

function findTtlProblem(ttl: string): Complaint | undefined {
  const ms = parseDurationMs(ttl) ?? 0;
  if (ms >= minTtlMs && ms <= maxTtlMs) return undefined;
  return {
    problem: `the time to live ${quoted(ttl)} is too ${ms < minTtlMs ? "short" : "long"}`,
    hint: "Use a time to live from 1s to 7d.",
  };
}

function findSizeProblem(size: string): Complaint | undefined {
  const bytes = parseSizeBytes(size) ?? 0;
  if (bytes >= minSizeBytes && bytes <= maxSizeBytes) return undefined;
  return {
    problem: `${quoted(size)} is too ${bytes < minSizeBytes ? "small" : "large"}`,
    hint: `Use a size from ${formatBytes(minSizeBytes)} (16m) to ${formatBytes(maxSizeBytes)} (16t).`,
  };
}

function findGlobProblem(glob: string): Complaint | undefined {
  // Some matchers read `[.]` as `.`, so `[.][.]` can mean `..`.
  const reason = whyOutside(glob.replace(/\[[^\]/]*\.[^\]/]*\]/g, ".")) ?? whyUnclear(glob);
  return reason === undefined
    ? undefined
    : {
        problem: `the input ${quoted(glob)} ${reason}`,
        hint: "Write paths of files below the folder in which swarm is started, for example src/**/*.py.",
      };
}

function findOutputProblem(path: string): Complaint | undefined {
  const reason = whyOutside(path) ?? (/[*?[\]{}]/.test(path) ? "is a pattern, not a path" : undefined);
  return reason === undefined
    ? undefined
    : {
        problem: `the output ${quoted(path)} ${reason}`,
        hint: "Write the path relative to /outputs, for example report.json.",
      };
}

/** Returns why swarm rejects a path that should lie inside a folder; undefined if the path is valid. */
function whyOutside(path: string): string | undefined {
  if (path.trim() === "") return "is empty";
  if (/[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u.test(path))
    return "contains control characters";
  if (path.startsWith("/")) return "is absolute";
  if (path.includes("\\")) return "contains a backslash";
  const parts = path.split("/");
  if (parts.includes("..")) return "contains `..`";
  if (parts.some((part) => part.startsWith("~")))
    return "has a part that begins with `~`, which swarm does not expand";
  return undefined;
}

/**
 * Returns why swarm rejects a glob with braces, groups or `!`; undefined for any other glob. Matchers
 * interpret such globs differently, and braces can hide a `..` (`{.,x}.`).
 */
function whyUnclear(glob: string): string | undefined {
  if (/[{}]/.test(glob)) return "has braces; write one line for each alternative";
  if (/[?*+@!]\(/.test(glob)) return "has a group in parentheses; write one line for each alternative";
  if (glob.startsWith("!")) return "begins with `!`, but a pattern in `inputs` cannot exclude files";
  return undefined;
}

function findEnvNameProblem(name: string): Complaint | undefined {
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || name.length > maxEnvNameLength)
    return {
      problem: `${quoted(name)} is not a valid name for a variable`,
      hint: `Use at most ${maxEnvNameLength} characters: ASCII letters, digits and _, and no digit at the beginning.`,
    };
  if (/^(?:LD_|AIMI_)/.test(name) || name === "IS_SANDBOX" || name === "GLIBC_TUNABLES")
    return {
      problem: `swarm does not allow the variable ${name}`,
      hint: "LD_* and GLIBC_TUNABLES control how programs are loaded; swarm itself sets AIMI_* and IS_SANDBOX.",
    };
  return undefined;
}

function findEnvValueProblem(value: string): Complaint | undefined {
  if (value.includes("\0"))
    return { problem: "the value contains a NUL character", hint: "Remove the character." };
  if (!value.isWellFormed())
    return {
      problem: "the value contains an unpaired surrogate",
      hint: "Remove the unpaired surrogate (\\ud800 to \\udfff).",
    };
  if (new TextEncoder().encode(value).length > maxEnvValueBytes)
    return {
      problem: `the value is larger than ${formatBytes(maxEnvValueBytes)}`,
      hint: "Put the value into a file, and add the file to `inputs`.",
    };
  return undefined;
}

/** Quotes untrusted text for use in a sentence. */
function quoted(text: string): string {
  return JSON.stringify(sanitizeText(text, 80));
}

function escapeKey(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}
