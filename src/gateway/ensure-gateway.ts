import { labels } from "../engine/engine.ts";
import { baseImage } from "../engine/rules/base-image.ts";
import { isError } from "../errors/errors.ts";
import { gatewayContainerSpec, gatewayProbeContainerSpec } from "./gateway-container.ts";
import type { GatewayDeps, GatewayTransport } from "./gateway-deps.ts";
import { gatewayNames } from "./rules/gateway-names.ts";

/** Returns the labels for the containers, volumes and networks of the gateway. */
export function gatewayLabels({
  projectId,
  worktree,
  swarmId,
}: GatewayDeps["swarm"]): Record<string, string> {
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
export async function ensureGateway(
  { swarm, sandboxes, events }: GatewayDeps,
  signal: AbortSignal,
): Promise<void> {
  const { containers, volumes, ownRuntime } = sandboxes;
  const { container, journalVolume, socketVolume } = gatewayNames(swarm);
  const facts = await containers.inspect(container, undefined, signal);
  if (facts?.state === "running") return;
  if (facts?.state === "paused") return containers.unpause(facts.id, signal);
  const marks = gatewayLabels(swarm);
  let id = facts?.id ?? null;
  if (id === null) {
    for (const volume of [journalVolume, socketVolume]) await volumes.create(volume, marks, signal);
    const spec = gatewayContainerSpec({
      name: container,
      labels: marks,
      image: baseImage,
      runtime: ownRuntime,
      volume: journalVolume,
      socketVolume,
    });
    ({ id } = await containers.create(spec, signal));
  }
  await containers.start(id, signal);
  events.emit({ event: "gateway", status: facts === null ? "started" : "restarted", containerId: id });
}

/**
 * Tests whether a sandbox without a network reaches the gateway's socket. Runs the test in a container with
 * the workers' runtime, because some runtimes do not support it.
 */
export async function probeGatewayTransport(
  { swarm, sandboxes: { containers, runtime } }: GatewayDeps,
  signal: AbortSignal,
): Promise<GatewayTransport> {
  const { container, socketVolume } = gatewayNames(swarm);
  const name = container.replace(/\.gateway$/, ".knock");
  const spec = gatewayProbeContainerSpec({
    name,
    labels: gatewayLabels(swarm),
    image: baseImage,
    runtime,
    socketVolume,
  });
  try {
    // Removes the probe container of a killed owner, which would only repeat its old result.
    await containers.remove(name, signal);
    const { id } = await containers.create(spec, signal);
    await containers.start(id, signal);
    let output = "";
    for await (const { bytes, stream } of containers.logs(id, { follow: true }, signal))
      if (stream === "stdout") output += Buffer.from(bytes).toString();
    return output.trim() === "open" ? "socket" : "network";
  } catch (error) {
    // If the probe cannot start with the workers' runtime, that runtime does not support the shared socket.
    if (isError(error, "CONTAINER_START_FAILED")) return "network";
    throw error;
  } finally {
    await containers.remove(name, signal);
  }
}
