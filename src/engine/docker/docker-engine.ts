import { SwarmError } from "../../errors/errors.ts";
import { parseJsonOrNull } from "../../text/parse-json-or-null.ts";
import type { ConnectedEngine, ContainerEngine, EngineInfo, LabelledContainer } from "../engine.ts";
import { engineFailed } from "../engine-failed.ts";
import type { EngineComponent } from "../rules/find-vulnerabilities.ts";
import { callEngine, type EngineAnswer, type EngineCall } from "./engine-http.ts";
import {
  containerListPath,
  parseContainerList,
  sandboxesInUsePath,
  worktreeFilterQuery,
} from "./list-containers.ts";
import type { EngineHostFunctions } from "./open-engine.ts";
import { parseEngineSystemCallFilter } from "./seccomp/parse-engine-filter.ts";

export interface DockerEngineDeps {
  /** The path of the bundled adapter, the program that runs inside containers and also contains the probe. */
  readonly adapterFile: string;
  /**
   * Loads the functions with which the engine's code acts on this machine, such as locks. They are loaded
   * only when the engine is opened, so that commands that do not open it start faster.
   */
  readonly hostFunctions: () => Promise<EngineHostFunctions>;
}

/** Creates an object for the Docker-compatible engine at the given endpoint. */
export function dockerEngine(endpoint: string, deps: DockerEngineDeps): ContainerEngine {
  const memoryLimitsOf = createMemoryLimitReader(endpoint);
  // All callers share one opened engine, so that one limiter counts all container starts.
  let opened: Promise<ConnectedEngine> | undefined;

  return {
    endpoint,
    capabilities: { pause: true, commit: true, subnets: true, namedVolumes: true },

    async info(signal) {
      const ping = await call(endpoint, { path: "/_ping", signal, timeoutMs: 3_000 });
      if (ping.status !== 200 || !ping.headers["api-version"])
        throw new SwarmError("ENGINE_UNREACHABLE", {
          tried: [`${endpoint}: the program that answers is not a container engine`],
        });
      const info = await askFor(endpoint, "report system information", { path: "/info", signal });
      return toInfo(endpoint, info, builderOf(ping));
    },

    listContainers: (scope, signal) => list(endpoint, containerListPath(scope), signal),

    async listSandboxesInUse(signal) {
      const running = await list(endpoint, sandboxesInUsePath, signal);
      const limits = await memoryLimitsOf(
        running.map(({ containerId }) => containerId),
        signal,
      );
      return running.map(({ labels }, index) => ({ labels, memoryBytes: limits[index] ?? 0 }));
    },

    async volumes(scope, signal) {
      const { Volumes } = await askFor(endpoint, "list volumes", {
        path: `/volumes?filters=${worktreeFilterQuery(scope)}`,
        signal,
      });
      return (Array.isArray(Volumes) ? Volumes : []).flatMap((volume) =>
        typeof volume?.Name === "string" ? [{ name: volume.Name, labels: volume.Labels ?? {} }] : [],
      );
    },

    async probe(runtime, signal) {
      const { probeRuntime } = await import("./probe/probe-runtime.ts");
      return probeRuntime(deps.adapterFile, endpoint, runtime, signal);
    },

    open: async () => {
      opened ??= Promise.all([import("./open-engine.ts"), deps.hostFunctions()]).then(
        ([{ openDockerEngine }, help]) => openDockerEngine(endpoint, help),
      );
      return opened;
    },

    async listComponents(signal) {
      return partsIn(await askFor(endpoint, "report its version", { path: "/version", signal }));
    },

    async reachesRegistry(signal) {
      const path = "/distribution/hello-world:latest/json";
      const answer = await call(endpoint, { path, signal, timeoutMs: 8_000 }).catch(() => null);
      return answer?.status === 200;
    },
  };
}

async function call(endpoint: string, options: EngineCall): Promise<EngineAnswer> {
  try {
    return await callEngine(endpoint, options);
  } catch (error) {
    throw new SwarmError(
      "ENGINE_UNREACHABLE",
      { tried: [`${endpoint}: ${(error as Error).message}`] },
      error,
    );
  }
}

async function askFor(
  endpoint: string,
  operation: string,
  options: EngineCall,
): Promise<Record<string, unknown>> {
  const { status, body } = await call(endpoint, options);
  const answer = parseJsonOrNull(body);
  if (status !== 200) {
    const text = answer === null ? body.slice(0, 200) : (answer as { message?: unknown }).message;
    throw engineFailed(operation, String(text ?? "") || `HTTP ${status}`);
  }
  if (isObject(answer)) return answer;
  throw engineFailed(operation, "the engine's answer is neither a JSON object nor a list");
}

async function list(
  endpoint: string,
  path: string,
  signal: AbortSignal | undefined,
): Promise<LabelledContainer[]> {
  const operation = "list containers";
  const containers = parseContainerList(await askFor(endpoint, operation, { path, signal }));
  if (containers) return containers;
  throw engineFailed(operation, "the engine's answer is not a list");
}

/**
 * Creates a function that returns the memory limit in bytes of each of the running containers. Keeps the
 * limits, because the engine's list of containers lacks them, so each limit costs one request.
 */
function createMemoryLimitReader(endpoint: string) {
  const known = new Map<string, number>();
  const limitOf = async (id: string, signal: AbortSignal | undefined): Promise<number> => {
    const limit = known.get(id);
    if (limit !== undefined) return limit;
    const path = `/containers/${encodeURIComponent(id)}/json`;
    const { status, body } = await call(endpoint, { path, signal });
    // The container has ended since the engine listed it.
    if (status !== 200) return 0;
    const answer = parseJsonOrNull(body) as { HostConfig?: { Memory?: unknown } | null } | null;
    const memory = answer?.HostConfig?.Memory;
    const found = typeof memory === "number" && memory > 0 ? memory : 0;
    known.set(id, found);
    return found;
  };
  return async (ids: readonly string[], signal: AbortSignal | undefined): Promise<number[]> => {
    const limits = await Promise.all(ids.map((id) => limitOf(id, signal)));
    for (const id of known.keys()) if (!ids.includes(id)) known.delete(id);
    return limits;
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/**
 * Returns the components of an engine, such as runc, with their versions. If the component's commit field is
 * a Debian version with a revision, uses that text as the version.
 */
function partsIn({ Components }: Record<string, unknown>): EngineComponent[] {
  return (Array.isArray(Components) ? Components : []).flatMap((component) => {
    const { Name, Version, Details } = (component ?? {}) as Record<string, unknown>;
    if (typeof Name !== "string" || typeof Version !== "string") return [];
    const commit = String((Details as Record<string, unknown> | undefined)?.["GitCommit"] ?? "");
    const version = commit.startsWith(`${Version}-`) ? commit : Version;
    return [{ name: Name === "Engine" ? "Docker" : Name, version }];
  });
}

function toInfo(endpoint: string, info: Record<string, unknown>, builder: EngineInfo["builder"]): EngineInfo {
  const text = (name: string): string => String(info[name] ?? "");
  return {
    endpoint,
    id: text("ID"),
    name: text("Name"),
    version: text("ServerVersion"),
    kernel: text("KernelVersion"),
    architecture: text("Architecture"),
    // Leave out containerd's own names for runc, which the engine lists by its short name, too.
    runtimes: Object.keys((info["Runtimes"] as object | undefined) ?? {}).filter(
      (name) => !name.startsWith("io.containerd."),
    ),
    storageDriver: text("Driver"),
    dataFolder: text("DockerRootDir"),
    cpus: Number(info["NCPU"] ?? 0),
    memoryBytes: Number(info["MemTotal"] ?? 0),
    builder,
    filter: parseEngineSystemCallFilter(info),
  };
}

/**
 * Returns which builder an engine uses: BuildKit or the classic builder. Docker has BuildKit since API
 * version 1.39; other engines announce BuildKit in an HTTP header.
 */
function builderOf({ headers }: EngineAnswer): EngineInfo["builder"] {
  if (headers["builder-version"] === "2") return "buildkit";
  const [major = 0, minor = 0] = String(headers["api-version"]).split(".").map(Number);
  const isDocker = String(headers["server"]).startsWith("Docker/");
  return isDocker && (major > 1 || minor >= 39) ? "buildkit" : "classic";
}
