import { SwarmError } from "../../domain/errors.ts";
import { gatewayNames } from "../../domain/gateway-names.ts";
import { labels } from "../../ports/engine.ts";
import { gatewayContainer, knockContainer } from "./gateway-container.ts";
import type { GatewayDeps, Road } from "./gateway-deps.ts";

/** Everything of it carries these. */
export function gatewayLabels({
  projectId,
  worktree,
  swarmId,
}: Pick<GatewayDeps, "projectId" | "worktree" | "swarmId">): Record<string, string> {
  return {
    [labels.sandbox]: "true",
    [labels.project]: projectId,
    [labels.worktree]: worktree,
    [labels.swarm]: swarmId,
    [labels.role]: "gateway",
  };
}

/** A running gateway: the one that is there, or a new one on what volumes there are. */
export async function standUpGateway(deps: GatewayDeps, signal: AbortSignal): Promise<void> {
  const { containers, volumes } = deps;
  const names = gatewayNames(deps);
  const facts = await containers.look(names.container, undefined, signal);
  if (facts?.state === "running") return;
  if (facts?.state === "paused") return containers.unpause(facts.id, signal);
  const marks = gatewayLabels(deps);
  let id = facts?.id ?? null;
  if (id === null) {
    for (const volume of [names.volume, names.door]) await volumes.create(volume, marks, signal);
    ({ id } = await containers.create(
      gatewayContainer({
        ...{ name: names.container, labels: marks, image: deps.image(), runtime: deps.ownRuntime },
        ...{ volume: names.volume, door: names.door },
      }),
      signal,
    ));
  }
  await containers.start(id, signal);
  deps.tell({ event: "gateway", status: facts === null ? "started" : "restarted", containerId: id });
}

/** Whether a sandbox without a network can come to the gateway: tried, in a container of the workers' runtime. */
export async function findRoad(deps: GatewayDeps, signal: AbortSignal): Promise<Road> {
  const { containers, image, runtime } = deps;
  const { container, door } = gatewayNames(deps);
  const name = container.replace(/\.gateway$/, ".knock");
  try {
    // One that was left by an owner who was killed would repeat what it said then.
    await containers.remove(name, signal);
    const { id } = await containers.create(
      knockContainer({ name, labels: gatewayLabels(deps), image: image(), runtime, door }),
      signal,
    );
    await containers.start(id, signal);
    let said = "";
    for await (const { bytes, stream } of containers.logs(id, { follow: true }, signal))
      if (stream === "stdout") said += Buffer.from(bytes).toString();
    return said.trim() === "open" ? "socket" : "network";
  } catch (error) {
    // A runtime that cannot even try is not one for sockets.
    if (error instanceof SwarmError && error.code === "CONTAINER_START_FAILED") return "network";
    throw error;
  } finally {
    await containers.remove(name, signal);
  }
}
