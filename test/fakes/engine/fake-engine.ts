import type { EngineCapabilities } from "../../../src/engine/engine.ts";
import {
  type ContainerEngine,
  type EngineWorktreeScope,
  type LabelledContainer,
  labels,
  type SandboxInUse,
} from "../../../src/engine/engine.ts";
import type { Probe } from "../../../src/engine/rules/isolation.ts";
import { SwarmError } from "../../../src/errors/errors.ts";
import { fakeContainers } from "./fake-containers.ts";
import { fakeImages, fakeNames } from "./fake-images.ts";

export interface FakeEngine extends ContainerEngine {
  /** What it remembers, as somebody else made it. */
  readonly containers: LabelledContainer[];
  readonly volumesByName: Map<string, Readonly<Record<string, string>>>;
  /** What runs on it, of whatever project. */
  readonly inUseNow: SandboxInUse[];
}

const probe: Probe = {
  kernelRelease: "6.1.0",
  uidMap: [{ inside: 0, outside: 0, count: 4294967295 }],
  capabilities: "0000000000000000",
  noNewPrivileges: true,
  seccomp: 2,
  mountTypes: ["overlay"],
  userId: 1000,
  sharedNamespaces: [],
  devices: [],
  hostMounts: [],
  openPaths: [],
  steps: [{ step: "stat", error: null }],
};

/** An engine with a memory and no containers of its own. */
export function fakeEngine({
  answers = true,
  id = "fake",
  runtimes = ["runc"],
  capabilities = { pause: true, commit: true, subnets: true, namedVolumes: true },
}: {
  capabilities?: EngineCapabilities;
  answers?: boolean;
  id?: string;
  runtimes?: readonly string[];
} = {}): FakeEngine {
  const containers: LabelledContainer[] = [];
  const volumesByName = new Map<string, Readonly<Record<string, string>>>();
  const inUseNow: SandboxInUse[] = [];
  const endpoint = "unix:///fake.sock";
  const answer = <Result>(result: () => Result | Promise<Result>): Promise<Result> => {
    if (!answers)
      return Promise.reject(
        new SwarmError("ENGINE_UNREACHABLE", { tried: [`${endpoint}: connect ENOENT /fake.sock`] }),
      );
    return Promise.resolve().then(result);
  };
  const unlessAborted = async <Result>(
    signal: AbortSignal | undefined,
    result: () => Result | Promise<Result>,
  ): Promise<Result> => {
    signal?.throwIfAborted();
    return answer(result);
  };
  const opened = {
    containers: fakeContainers(unlessAborted),
    images: fakeImages(unlessAborted),
    networks: fakeNames(unlessAborted),
    volumes: fakeNames(unlessAborted),
  };
  const isIn = (scope: EngineWorktreeScope, found: Readonly<Record<string, string>>): boolean =>
    found[labels.project] === scope.projectId && found[labels.worktree] === scope.worktree;

  return {
    capabilities,
    endpoint,
    containers,
    volumesByName,
    inUseNow,
    listSandboxesInUse: () => answer(() => [...inUseNow]),
    info: () =>
      answer(() => ({
        ...{
          endpoint,
          id,
          runtimes,
          name: "fake",
          version: "1",
          kernel: "6.1.0",
          architecture: "x86_64",
          storageDriver: "memory",
        },
        ...{ dataFolder: "/", cpus: 2, memoryBytes: 8 * 1024 ** 3, builder: "buildkit" as const },
        filter: { architecture: "x86_64", profile: "default", isPodman: false },
      })),
    listContainers: (scope) => answer(() => containers.filter((container) => isIn(scope, container.labels))),
    volumes: (scope) =>
      answer(() =>
        [...volumesByName]
          .filter(([, found]) => isIn(scope, found))
          .map(([name, found]) => ({ name, labels: found })),
      ),
    probe: (runtime) =>
      answer(() => {
        if (!runtimes.includes(runtime))
          throw new SwarmError("ENGINE_FAILED", {
            operation: `run a container with the runtime ${runtime}`,
            reason: "unknown runtime",
          });
        return probe;
      }),
    listComponents: () => answer(() => []),
    reachesRegistry: () => answer(() => false),
    open: async () => opened,
  };
}
