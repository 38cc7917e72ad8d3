import type { ContainerRecord } from "../../contract/swarm-state.ts";
import { isError } from "../../errors/errors.ts";
import { isTerminalStatus } from "../../state/rules/container-status.ts";
import { requireRecord } from "../../state/rules/swarm-state.ts";
import { workerSlug } from "../../text/slugs.ts";
import type { SwarmOwnerDeps } from "./swarm-owner-deps.ts";

const modelLimit = "rate limit of the model's API";

/**
 * Pauses a worker until the rate limit of its model ends, because a paused container uses no CPU. `until` is
 * the time of that end, in milliseconds since 1970.
 */
export async function pauseWorkerForRateLimit(
  {
    containers,
    read,
    change,
    emit,
    clock,
    signal,
  }: Pick<SwarmOwnerDeps, "containers" | "read" | "change" | "emit" | "clock" | "signal">,
  name: string,
  until: number,
): Promise<void> {
  const record = requireRecord(await read(), name);
  const { status, paused } = record;
  if (isTerminalStatus(status) || (paused !== null && isAtLeast(paused, until))) return;
  if (status === "running" && paused === null) {
    try {
      await containers.pause(name, signal);
    } catch (error) {
      // Ignores the error: the container has just ended by itself.
      if (isError(error, "CONTAINER_NOT_RUNNING") || isError(error, "CONTAINER_GONE")) return;
      throw error;
    }
  }
  const since = paused?.since ?? clock().toISOString();
  const at = { since, until: new Date(until).toISOString() };
  await change(name, (now) => ({ ...now, paused: { reason: modelLimit, ...at } }));
  emit({ event: "paused", worker: workerSlug(record), why: modelLimit, until: at.until });
}

/**
 * Returns whether a worker's pause lasts until the time `end` or longer. A pause that the user ordered has no
 * end.
 */
function isAtLeast({ until }: NonNullable<ContainerRecord["paused"]>, end: number): boolean {
  return until === null || Date.parse(until) >= end;
}
