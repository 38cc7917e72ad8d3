import { requireRecord } from "../../state/rules/swarm-state.ts";
import { workerSlug } from "../../text/slugs.ts";
import { planRetryAttempts } from "./rules/plan-attempts.ts";
import { reworkRequestFromProof } from "./rules/rework-request.ts";
import type { SwarmOwnerDeps } from "./swarm-owner-deps.ts";

/**
 * Plans the next attempt of failed workers, and lets stopped workers continue their attempt. In a new
 * attempt, a completed story stays completed only if its commit is in the repository.
 */
export async function retryWorkers(
  {
    read,
    update,
    work,
    clock,
    findProof,
  }: Pick<SwarmOwnerDeps, "read" | "update" | "work" | "clock" | "findProof">,
  names: readonly string[],
): Promise<void> {
  if (names.length === 0) return;
  const state = await read();
  const lost = new Set<string>();
  for (const name of names)
    for (const { commit } of requireRecord(state, name).stories)
      if (commit !== null && !(await work.hasCommit(commit))) lost.add(commit);
  // If the proof of a worker failed, all its stories count as completed. So the story whose proof failed is
  // opened again.
  const reopened = new Map<string, string>();
  for (const name of names) {
    const record = requireRecord(state, name);
    if (record.reason?.code !== "PROOF_FAILED") continue;
    const proof = await findProof(workerSlug(record));
    const storyId = proof && reworkRequestFromProof(proof, record)?.storyId;
    const last = record.stories.at(-1)?.id;
    if (storyId ?? last) reopened.set(name, storyId ?? last ?? "");
  }
  await update((now) => planRetryAttempts(now, names, { lost, reopened, now: clock() }));
}
