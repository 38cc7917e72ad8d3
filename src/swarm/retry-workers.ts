import { withRetried } from "../domain/next-attempt.ts";
import { findContainer } from "../domain/swarm-state.ts";
import type { SwarmDeps } from "./swarm-deps.ts";

/** Gives failed workers their next attempt; stopped ones go on. A story counts as done only if its commit is here. */
export async function retryWorkers(
  { read, update, work, clock }: Pick<SwarmDeps, "read" | "update" | "work" | "clock">,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return;
  const state = await read();
  const lost = new Set<string>();
  for (const name of names)
    for (const { commit } of findContainer(state, name).stories)
      if (commit !== null && !(await work.has(commit))) lost.add(commit);
  await update((now) => withRetried(now, names, { lost, now: clock() }));
}
