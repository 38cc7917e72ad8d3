import type { ContainerRecord, SwarmState } from "../../contract/swarm-state.ts";
import type { Containers } from "../../engine/containers.ts";
import { labels } from "../../engine/engine.ts";
import type { Engines } from "../../engine/engines.ts";
import { SwarmError } from "../../errors/errors.ts";
import { refuseOtherEngine } from "../../state/compare-state-with-engine.ts";
import { workerSlug } from "../../text/slugs.ts";

export interface RunningWorkerContainer {
  readonly containers: Containers;
  readonly containerId: string;
}

/**
 * Finds the running container of a worker, on the engine that the swarm's state names. Throws
 * CONTAINER_NOT_RUNNING, with advice for the user, if the container does not run.
 */
export async function findRunningContainer(
  engines: Pick<Engines, "recorded">,
  state: SwarmState,
  record: ContainerRecord,
  signal: AbortSignal,
): Promise<RunningWorkerContainer> {
  const { containerName: id } = record;
  const slug = workerSlug(record);
  const refuse = (was: string): never => {
    const instead =
      was === "paused"
        ? `\`swarm unpause ${slug}\` continues the worker; \`swarm logs ${slug}\` shows the worker's log.`
        : `\`swarm logs ${slug}\` shows the worker's log.`;
    throw new SwarmError("CONTAINER_NOT_RUNNING", { id, state: was, instead });
  };
  if (state.engine === null) return refuse("not created yet");
  const { endpoint } = state.engine;
  const engine = await engines.recorded(endpoint);
  if (engine === null) throw new SwarmError("ENGINE_UNREACHABLE", { tried: [endpoint] });
  await refuseOtherEngine(state, engine);
  const { containers } = await engine.open(signal);
  const facts = await containers.inspect(id, undefined, signal);
  if (facts === null) return refuse(record.status === "pending" ? "not created yet" : "removed");
  const isOurs =
    facts.labels[labels.project] === state.project.id && facts.labels[labels.swarm] === state.swarmId;
  if (!isOurs) return refuse("unknown, because another container has this name");
  if (facts.state !== "running") return refuse(facts.state);
  return { containers, containerId: facts.id };
}
