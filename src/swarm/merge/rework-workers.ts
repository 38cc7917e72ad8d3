import type { MergeReport } from "../../contract/merge.ts";
import type { ContainerRecord } from "../../contract/swarm-state.ts";
import { SwarmError } from "../../errors/errors.ts";
import { isTerminalStatus } from "../../state/rules/container-status.ts";
import { requireRecord } from "../../state/rules/swarm-state.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";
import { workerSlug } from "../../text/slugs.ts";
import type { OwnerServices } from "../worker/owner-services.ts";
import { planReworkAttempts, type ReworkFacts } from "../worker/rules/plan-attempts.ts";
import {
  findResultExcludedFromMerge,
  type ReworkRequest,
  reworkRequestFromMerge,
  reworkRequestFromProof,
} from "../worker/rules/rework-request.ts";
import { hasCheckFailedOnBase } from "./rules/describe-merge.ts";

type ReworkDeps = Pick<OwnerServices, "store" | "repository" | "channel" | "proofs" | "time">;

export interface WorkersToRework {
  /** The names of the workers whose results are to be reworked. */
  readonly names: readonly string[];
  /** The branch that is merged into each worker's result before the rework begins. */
  readonly branch: string;
  /** The report of the swarm's last merge; null if there was no merge. */
  readonly report: MergeReport | null;
}

/**
 * Plans another attempt for workers whose results are to be reworked. The attempt starts from a merge of
 * `branch` into the worker's result, and the agent's prompt contains the reason. After a crash, a second call
 * creates the same commits.
 */
export async function reworkWorkers(
  deps: ReworkDeps,
  { names, branch, report }: WorkersToRework,
): Promise<void> {
  const { store, repository } = deps;
  const { commit: base } = await repository.work.branch(branch);
  if (base === null)
    throw new SwarmError("BRANCH_REFUSED", {
      branch,
      reason: "the branch does not exist; `swarm merge` creates the integration branch",
    });
  const state = await store.read();
  const records = names.map((name) => requireRecord(state, name));
  // Checks all records before it changes any of them.
  for (const record of records) await refuseUseless(deps, record, { base, branch });
  const startByName = new Map<string, ReworkFacts>();
  for (const record of records) {
    const start = await startRework(deps, record, { base, branch, report });
    if (start !== null) startByName.set(record.containerName, start);
  }
  // Changes only the records. The owner moves each worker's ref when it prepares the attempt.
  await store.update((now) => planReworkAttempts(now, startByName));
}

async function startRework(
  { repository: { work }, channel, proofs, time: { clock, signal } }: ReworkDeps,
  record: ContainerRecord,
  {
    base,
    branch,
    report,
  }: { readonly base: string; readonly branch: string; readonly report: MergeReport | null },
): Promise<ReworkFacts | null> {
  const { collected, attempt, branchName, baseCommit } = record;
  if (collected === null) return null;
  const slug = workerSlug(record);
  const message = `Merge ${sanitizeText(branch)} into ${sanitizeText(branchName)}\n\nWorker ${slug} continues from this commit.\n`;
  const containsBase = await work.isAncestor(base, collected.commit, signal);
  const merged = containsBase
    ? { commit: collected.commit, conflicts: [] }
    : await work.mergeWithConflictMarkers({ ours: collected.commit, theirs: base, message }, signal);
  // Uses the merge report only if it is about this branch: a merge into another branch says nothing about
  // this one.
  const mergeOfBranch = report?.branch === branch ? report : null;
  const entry = findResultExcludedFromMerge(mergeOfBranch, slug) ?? emptyEntry(slug);
  const ofMerge = reworkRequestFromMerge(entry, {
    branch,
    record,
    conflicts: merged.conflicts,
    command: mergeOfBranch?.check.command ?? null,
    failsOnBase: mergeOfBranch !== null && hasCheckFailedOnBase(mergeOfBranch.check),
  });
  const proof = record.reason?.code === "PROOF_FAILED" ? await proofs.find(slug) : null;
  const ofProof = proof && reworkRequestFromProof(proof, record);
  const request = ofProof && ofMerge && !containsBase ? joined(ofProof, ofMerge) : (ofProof ?? ofMerge);
  if (request === null) return null;
  await channel.storeRework({ slug, attempt: attempt + 1 }, { ...request, commit: merged.commit });
  return {
    reason: entry.reason ?? {
      code: "TAKEN_UP",
      message: `the user asked the worker to continue from branch ${branch}`,
    },
    storyId: request.storyId,
    commit: merged.commit,
    now: clock(),
    base: containsBase ? (baseCommit ?? base) : base,
  };
}

/**
 * Combines the failures of a proof and of a merge into one rework request. The failure of the proof comes
 * first, because it does not depend on other workers' results.
 */
function joined(proof: ReworkRequest, merge: ReworkRequest): ReworkRequest {
  const checks = [...new Set([...proof.checks, ...merge.checks])];
  return { ...proof, message: `${proof.message}\n\n${merge.message}`, checks };
}

async function refuseUseless(
  { repository, time }: ReworkDeps,
  record: ContainerRecord,
  { base, branch }: { readonly base: string; readonly branch: string },
): Promise<void> {
  const { collected, baseCommit, status } = record;
  const worker = workerSlug(record);
  const refuse = (why: string): never => {
    throw new SwarmError("USAGE", { message: `${worker} cannot continue from ${branch}: ${why}` });
  };
  if (!isTerminalStatus(status)) refuse(`the worker is ${status}`);
  if (collected === null || collected.commit === baseCommit) return refuse("the worker has no result");
  if (await repository.work.isAncestor(collected.commit, base, time.signal))
    refuse("the branch already contains the worker's result");
}

function emptyEntry(worker: string): NonNullable<ReturnType<typeof findResultExcludedFromMerge>> {
  const nothing = { commit: null, mergedAs: null, reason: null, files: [], with: [], check: null };
  return { worker, outcome: "set aside", ...nothing };
}
