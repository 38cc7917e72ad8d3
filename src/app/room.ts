import type { ProjectRef } from "../contract/swarm-state.ts";
import { type ContainerEngine, labels } from "../engine/engine.ts";
import { SwarmError } from "../errors/errors.ts";
import type { Repository } from "../git/find-repository.ts";
import type { HostCapacity } from "../tasks/rules/parallel-workers.ts";

export interface PlanCapacityReaderDeps {
  readonly repository: () => Promise<Repository>;
  readonly project: () => Promise<ProjectRef>;
  readonly findEngine: (endpoint: string | null) => Promise<ContainerEngine | null>;
}

/**
 * Creates the function that measures a host's capacity for planned workers. The host is the engine's
 * machine, or this machine if no engine answers.
 */
export function createPlanCapacityReader({
  repository,
  project,
  findEngine,
}: PlanCapacityReaderDeps): () => Promise<HostCapacity> {
  return async () => {
    try {
      const engine = await findEngine(null);
      return engine === null ? await ownMachine() : await askEngine(engine);
    } catch (error) {
      // An error of the engine is no error of the plan: a plan works without an engine.
      if (error instanceof SwarmError) return ownMachine();
      throw error;
    }
  };

  async function askEngine(engine: ContainerEngine): Promise<HostCapacity> {
    const [{ hasProjectIdentity }, { createHostCapacityReader }, { commonFolder, worktree }] =
      await Promise.all([
        import("../state/project-identity.ts"),
        import("../swarm/worker/host-capacity.ts"),
        repository(),
      ]);
    // A plan changes nothing, so it must not create the project's identity.
    const id = (await hasProjectIdentity(commonFolder)) ? (await project()).id : null;
    const isOwn = (found: Readonly<Record<string, string>>): boolean =>
      found[labels.project] === id && found[labels.worktree] === worktree;
    return createHostCapacityReader(engine, isOwn)();
  }
}

async function ownMachine(): Promise<HostCapacity> {
  const { readMachineFacts } = await import("../engine/read-machine.ts");
  const { cpus, memoryBytes } = await readMachineFacts();
  return { cpus, memoryBytes, others: { workers: 0, memoryBytes: 0 }, name: "this machine" };
}
