import { requireRecord } from "../../state/rules/swarm-state.ts";
import { workerSlug } from "../../text/slugs.ts";
import type { OwnerServices } from "./owner-services.ts";
import { planRetryAttempts } from "./rules/plan-attempts.ts";
import { reworkRequestFromProof } from "./rules/rework-request.ts";

/**
 * Plans the next attempt of failed workers, and lets stopped workers continue their attempt. In a new
 * attempt, a completed story stays completed only if its commit is in the repository.
 */
export async function retryWorkers(
  { store, repository, proofs, time }: Pick<OwnerServices, "store" | "repository" | "proofs" | "time">,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return;
  const state = await store.read();
  const lost = new Set<string>();
  for (const name of names)
    for (const { commit } of requireRecord(state, name).stories)
      if (commit !== null && !(await repository.work.hasCommit(commit))) lost.add(commit);
  // If the proof of a worker failed, all its stories count as completed. So the story whose proof failed is
  // opened again.
  const reopened = new Map<string, string>();
  for (const name of names) {
    const record = requireRecord(state, name);
    if (record.reason?.code !== "PROOF_FAILED") continue;
    const proof = await proofs.find(workerSlug(record));
    const storyId = (proof && reworkRequestFromProof(proof, record)?.storyId) ?? record.stories.at(-1)?.id;
    if (storyId) reopened.set(name, storyId);
  }
  await store.update((now) => planRetryAttempts(now, names, { lost, reopened, now: time.clock() }));
}
