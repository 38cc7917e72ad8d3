import { labels } from "../engine/engine.ts";
import { SwarmError } from "../errors/errors.ts";
import { gatewayContainerSpec, gatewayProbeContainerSpec } from "./gateway-container.ts";
import type { GatewayDeps, GatewayTransport } from "./gateway-deps.ts";
import { gatewayNames } from "./rules/gateway-names.ts";

/** Returns the labels for the containers, volumes and networks of the gateway. */
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

/**
 * Ensures that the gateway's container runs: starts the existing container, or creates a new one, which
 * reuses the existing volumes.
 */
export async function ensureGateway(deps: GatewayDeps, signal: AbortSignal): Promise<void> {
  const { containers, volumes } = deps;
  const names = gatewayNames(deps);
  const facts = await containers.inspect(names.container, undefined, signal);
  if (facts?.state === "running") return;
  if (facts?.state === "paused") return containers.unpause(facts.id, signal);
  const marks = gatewayLabels(deps);
  let id = facts?.id ?? null;
  if (id === null) {
    for (const volume of [names.journalVolume, names.socketVolume])
      await volumes.create(volume, marks, signal);
    ({ id } = await containers.create(
      gatewayContainerSpec({
        ...{ name: names.container, labels: marks, image: deps.image(), runtime: deps.ownRuntime },
        ...{ volume: names.journalVolume, socketVolume: names.socketVolume },
      }),
      signal,
    ));
  }
  await containers.start(id, signal);
  deps.emit({ event: "gateway", status: facts === null ? "started" : "restarted", containerId: id });
}

/**
 * Tests whether a sandbox without a network reaches the gateway's socket. Runs the test in a container with
 * the workers' runtime, because some runtimes do not support it.
 */
export async function probeGatewayTransport(
  deps: GatewayDeps,
  signal: AbortSignal,
): Promise<GatewayTransport> {
  const { containers, image, runtime } = deps;
  const { container, socketVolume } = gatewayNames(deps);
  const name = container.replace(/\.gateway$/, ".knock");
  try {
    // Removes the probe container of a killed owner, which would only repeat its old result.
    await containers.remove(name, signal);
    const { id } = await containers.create(
      gatewayProbeContainerSpec({
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
    // If the probe cannot start with the workers' runtime, that runtime does not support the shared socket.
    if (error instanceof SwarmError && error.code === "CONTAINER_START_FAILED") return "network";
    throw error;
  } finally {
    await containers.remove(name, signal);
  }
}
