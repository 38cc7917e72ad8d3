import { once } from "../domain/once.ts";
import type { HostCapacity } from "../domain/parallel-workers.ts";
import { type ContainerEngine, labels } from "../ports/engine.ts";

/**
 * Asks an engine what its host has for one swarm. Sandboxes that are not the swarm's own count with the memory that they may
 * use, not with what they use now: an agent that begins has used none of it yet, and the host may be another machine.
 */
export function hostCapacityOf(
  engine: Pick<ContainerEngine, "info" | "inUse">,
  isOwn: (labels: Readonly<Record<string, string>>) => boolean,
): (signal?: AbortSignal) => Promise<HostCapacity> {
  // A host does not grow.
  const host = once(() => engine.info());
  return async (signal) => {
    const { cpus, memoryBytes } = await host();
    const others = (await engine.inUse(signal)).filter((sandbox) => !isOwn(sandbox.labels));
    return {
      ...{ cpus, memoryBytes, name: "the engine's host" },
      others: {
        workers: others.filter((sandbox) => sandbox.labels[labels.role] === "worker").length,
        memoryBytes: others.reduce((sum, sandbox) => sum + sandbox.memoryBytes, 0),
      },
    };
  };
}
