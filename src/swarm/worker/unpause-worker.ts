import type { ContainerRecord } from "../../contract/swarm-state.ts";
import type { SwarmOwnerDeps } from "./swarm-owner-deps.ts";

/** Unpauses the container of a paused worker, and reports to the worker's adapter how long the pause was. */
export async function unpauseWorker(
  { containers, change, clock, signal }: Pick<SwarmOwnerDeps, "containers" | "change" | "clock" | "signal">,
  { containerName: name, paused }: ContainerRecord,
  resumed: (pausedMs: number) => Promise<void>,
): Promise<void> {
  if (paused === null) return;
  const facts = await containers.inspect(name, undefined, signal);
  if (facts?.state === "paused") await containers.unpause(name, signal);
  await resumed(Math.max(0, clock().getTime() - Date.parse(paused.since)));
  await change(name, (now) => ({ ...now, paused: null }));
}
