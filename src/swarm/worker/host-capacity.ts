import { type ContainerEngine, labels } from "../../engine/engine.ts";
import { readMachineFacts } from "../../engine/read-machine.ts";
import { SwarmError } from "../../errors/errors.ts";
import type { Project } from "../../project/project.ts";
import { hasProjectIdentity } from "../../state/project-identity.ts";
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
      cpus,
      memoryBytes,
      name: "the engine's host",
      others: {
        workers: others.filter((sandbox) => sandbox.labels[labels.role] === "worker").length,
        memoryBytes: others.reduce((sum, sandbox) => sum + sandbox.memoryBytes, 0),
      },
    };
  };
}

/**
 * Reads a host's capacity for planned workers. The host is the engine's machine, or this machine if no engine
 * answers.
 */
export async function readHostCapacity(
  project: Pick<Project, "engines" | "identity" | "repository">,
): Promise<HostCapacity> {
  try {
    const engine = await project.engines.recorded(null);
    return engine === null ? await ownMachine() : await askEngine(project, engine);
  } catch (error) {
    // An error of the engine is no error of the plan: a plan works without an engine.
    if (error instanceof SwarmError) return ownMachine();
    throw error;
  }
}

async function askEngine(
  { repository, identity }: Pick<Project, "identity" | "repository">,
  engine: ContainerEngine,
): Promise<HostCapacity> {
  const { commonFolder, worktree } = await repository();
  // A plan changes nothing, so it must not create the project's identity.
  const id = (await hasProjectIdentity(commonFolder)) ? (await identity()).id : null;
  return createHostCapacityReader(
    engine,
    (found) => found[labels.project] === id && found[labels.worktree] === worktree,
  )();
}

async function ownMachine(): Promise<HostCapacity> {
  const { cpus, memoryBytes } = await readMachineFacts();
  return { cpus, memoryBytes, others: { workers: 0, memoryBytes: 0 }, name: "this machine" };
}
