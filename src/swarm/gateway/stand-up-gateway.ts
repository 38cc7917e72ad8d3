import { SwarmError } from "../../domain/errors.ts";
import { gatewayNames } from "../../domain/gateway-names.ts";
import { labels } from "../../ports/engine.ts";
import { gatewayContainer, probeContainer } from "./gateway-container.ts";
import type { GatewayDeps, GatewayTransport } from "./gateway-deps.ts";

/** The labels of a gateway's containers, volumes and networks. */
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

/** Ensures that a gateway runs: the existing container, or a new one that reuses existing volumes. */
export async function ensureGateway(deps: GatewayDeps, signal: AbortSignal): Promise<void> {
  const { containers, volumes } = deps;
  const names = gatewayNames(deps);
  const facts = await containers.look(names.container, undefined, signal);
  if (facts?.state === "running") return;
  if (facts?.state === "paused") return containers.unpause(facts.id, signal);
  const marks = gatewayLabels(deps);
  let id = facts?.id ?? null;
  if (id === null) {
    for (const volume of [names.journalVolume, names.socketVolume])
      await volumes.create(volume, marks, signal);
    ({ id } = await containers.create(
      gatewayContainer({
        ...{ name: names.container, labels: marks, image: deps.image(), runtime: deps.ownRuntime },
        ...{ volume: names.journalVolume, socketVolume: names.socketVolume },
      }),
      signal,
    ));
  }
  await containers.start(id, signal);
  deps.emit({ event: "gateway", status: facts === null ? "started" : "restarted", containerId: id });
}

/** Probes, in a container of the workers' runtime, whether a sandbox without a network reaches the gateway's socket. */
export async function probeTransport(deps: GatewayDeps, signal: AbortSignal): Promise<GatewayTransport> {
  const { containers, image, runtime } = deps;
  const { container, socketVolume } = gatewayNames(deps);
  const name = container.replace(/\.gateway$/, ".knock");
  try {
    // A probe container of a killed owner would repeat its old result.
    await containers.remove(name, signal);
    const { id } = await containers.create(
      probeContainer({
        name,
        labels: gatewayLabels(deps),
        image: image(),
        runtime,
        socketVolume,
      }),
      signal,
    );
    await containers.start(id, signal);
    let output = "";
    for await (const { bytes, stream } of containers.logs(id, { follow: true }, signal))
      if (stream === "stdout") output += Buffer.from(bytes).toString();
    return output.trim() === "open" ? "socket" : "network";
  } catch (error) {
    // A runtime under which the probe cannot start does not support the socket.
    if (error instanceof SwarmError && error.code === "CONTAINER_START_FAILED") return "network";
    throw error;
  } finally {
    await containers.remove(name, signal);
  }
}
