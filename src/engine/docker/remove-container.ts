import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import type { AbortOption } from "./call-engine.ts";
import { httpStatusOf } from "./translate-failure.ts";

/**
 * The interval in milliseconds between two attempts to remove a container that another client is also
 * removing.
 */
const retryMs = 100;

/**
 * Removes a container; does nothing if it does not exist. If another client is removing the container, waits
 * until that removal is complete and the container's volumes are no longer in use.
 */
export async function removeContainer(docker: Docker, id: string, ending: AbortOption): Promise<void> {
  for (;;) {
    try {
      await docker.getContainer(id).remove({ force: true, v: true, ...ending });
      return;
    } catch (error) {
      const status = httpStatusOf(error);
      if (status === 404) return;
      if (status !== 409 || !/already in progress/.test((error as Error).message)) throw error;
    }
    await delay(retryMs, null, { signal: ending.abortSignal });
  }
}
