import { SwarmError } from "../../errors/errors.ts";
import type { ConnectedEngine, ContainerEngine, EngineInfo, LabelledContainer } from "../engine.ts";
import type { EngineComponent } from "../rules/find-vulnerabilities.ts";
import { callEngine, type EngineAnswer, type EngineCall } from "./engine-http.ts";
import {
  containerListPath,
  parseContainerList,
  sandboxesInUsePath,
  worktreeFilterQuery,
} from "./list-containers.ts";
import type { EngineHostFunctions } from "./open-engine.ts";
import type { ProbeDeps } from "./probe/probe-runtime.ts";
import { parseEngineSystemCallFilter } from "./seccomp/parse-engine-filter.ts";

export interface DockerEngineDeps extends ProbeDeps {
  /**
   * Loads the functions with which the engine's code acts on this machine, such as locks. They are loaded
   * only when the engine is opened, so that commands that do not open it start faster.
   */
  readonly hostFunctions: () => Promise<EngineHostFunctions>;
}

/** Creates an object for the Docker-compatible engine at the given endpoint. */
export function dockerEngine(endpoint: string, deps: DockerEngineDeps): ContainerEngine {
  const call = async (options: EngineCall): Promise<EngineAnswer> => {
    try {
      return await callEngine(endpoint, options);
    } catch (error) {
      throw new SwarmError(
        "ENGINE_UNREACHABLE",
        { tried: [`${endpoint}: ${(error as Error).message}`] },
        error,
      );
    }
  };

  const askFor = async (operation: string, options: EngineCall): Promise<Record<string, unknown>> => {
    const { status, body } = await call(options);
    if (status !== 200)
      throw new SwarmError("ENGINE_FAILED", { operation, reason: messageIn(body) || `HTTP ${status}` });
    const answer = parseAnswer(body);
    if (!answer)
      throw new SwarmError("ENGINE_FAILED", {
        operation,
        reason: "the engine's answer is neither a JSON object nor a list",
      });
    return answer;
  };

  const list = async (path: string, signal: AbortSignal | undefined): Promise<LabelledContainer[]> => {
    const containers = parseContainerList(await askFor("list containers", { path, signal }));
    if (containers) return containers;
    throw new SwarmError("ENGINE_FAILED", {
      operation: "list containers",
      reason: "the engine's answer is not a list",
    });
  };

  /**
   * The memory limit in bytes of each running container, by container ID. The map is a cache: the engine's
   * list of containers lacks the limits, so each limit costs one request.
   */
  const memoryLimits = new Map<string, number>();
  const memoryLimitOf = async (id: string, signal: AbortSignal | undefined): Promise<number> => {
    const known = memoryLimits.get(id);
    if (known !== undefined) return known;
    const path = `/containers/${encodeURIComponent(id)}/json`;
    const { status, body } = await call({ path, signal });
    // The container has ended since the engine listed it.
    if (status !== 200) return 0;
    const { Memory } = (parseAnswer(body)?.["HostConfig"] ?? {}) as { readonly Memory?: unknown };
    const limit = typeof Memory === "number" && Memory > 0 ? Memory : 0;
    memoryLimits.set(id, limit);
    return limit;
  };

  // All callers share one opened engine, so that one limiter counts all container starts.
  let opened: Promise<ConnectedEngine> | undefined;

  return {
    endpoint,

    async info(signal) {
      const ping = await call({ path: "/_ping", signal, timeoutMs: 3_000 });
      if (ping.status !== 200 || !ping.headers["api-version"]) {
        throw new SwarmError("ENGINE_UNREACHABLE", {
          tried: [`${endpoint}: the program that answers is not a container engine`],
        });
      }
      const info = await askFor("report system information", { path: "/info", signal });
      return toInfo(endpoint, info, builderOf(ping));
    },

    listContainers: (scope, signal) => list(containerListPath(scope), signal),

    async listSandboxesInUse(signal) {
      const running = await list(sandboxesInUsePath, signal);
      const found = await Promise.all(
        running.map(async ({ containerId, labels }) => ({
          labels,
          memoryBytes: await memoryLimitOf(containerId, signal),
        })),
      );
      const ids = new Set(running.map(({ containerId }) => containerId));
      for (const id of memoryLimits.keys()) if (!ids.has(id)) memoryLimits.delete(id);
      return found;
    },

    async volumes(scope, signal) {
      const { Volumes } = await askFor("list volumes", {
        path: `/volumes?filters=${worktreeFilterQuery(scope)}`,
        signal,
      });
      return (Array.isArray(Volumes) ? Volumes : []).flatMap((volume) =>
        typeof volume?.Name === "string" ? [{ name: volume.Name, labels: volume.Labels ?? {} }] : [],
      );
    },

    async probe(runtime, signal) {
      const { probeRuntime } = await import("./probe/probe-runtime.ts");
      return probeRuntime(deps, { endpoint, runtime }, signal);
    },

    open: async () => {
      opened ??= Promise.all([import("./open-engine.ts"), deps.hostFunctions()]).then(
        ([{ openDockerEngine }, help]) => openDockerEngine(endpoint, help),
      );
      return opened;
    },

    async listComponents(signal) {
      return partsIn(await askFor("report its version", { path: "/version", signal }));
    },

    async reachesRegistry(signal) {
      const answer = await call({
        path: "/distribution/hello-world:latest/json",
        signal,
        timeoutMs: 8_000,
      }).catch(() => null);
      return answer?.status === 200;
    },
  };
}

function parseAnswer(body: string): Record<string, unknown> | null {
  try {
    const answer: unknown = JSON.parse(body);
    return typeof answer === "object" && answer !== null ? (answer as Record<string, unknown>) : null;
  } catch {
    return null;
  }
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

function messageIn(body: string): string {
  try {
    return String(JSON.parse(body).message ?? "");
  } catch {
    return body.slice(0, 200);
  }
}
