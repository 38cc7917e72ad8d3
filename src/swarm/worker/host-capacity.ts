import { type ContainerEngine, labels } from "../../engine/engine.ts";
import type { HostCapacity } from "../../tasks/rules/parallel-workers.ts";
import { once } from "../../text/once.ts";

/**
 * Returns a function that reads the CPUs and memory of the engine's host, and how much memory other sandboxes
 * may use there. A sandbox counts with its memory limit, because its use may still grow and cannot be
 * measured on a remote host.
 */
export function createHostCapacityReader(
  engine: Pick<ContainerEngine, "info" | "listSandboxesInUse">,
  isOwn: (labels: Readonly<Record<string, string>>) => boolean,
): (signal?: AbortSignal) => Promise<HostCapacity> {
  // Asks the engine only once, because the host's CPUs and memory do not change.
  const host = once(() => engine.info());
  return async (signal) => {
    const { cpus, memoryBytes } = await host();
    const others = (await engine.listSandboxesInUse(signal)).filter((sandbox) => !isOwn(sandbox.labels));
    return {
      ...{ cpus, memoryBytes, name: "the engine's host" },
      others: {
        workers: others.filter((sandbox) => sandbox.labels[labels.role] === "worker").length,
        memoryBytes: others.reduce((sum, sandbox) => sum + sandbox.memoryBytes, 0),
      },
    };
  };
}
