import type { MergeReport } from "../../contract/merge.ts";
import type { ProofReport } from "../../contract/proof.ts";
import type { SummaryChanges, SummarySensitive } from "../../contract/summary.ts";
import type { ContainerRecord, SwarmState } from "../../contract/swarm-state.ts";
import type { TaskFile } from "../../contract/tasks.ts";
import { SwarmError } from "../../errors/errors.ts";
import type { WorkRepository } from "../../git/work-repository-port.ts";
import { failedStoryRefName } from "../../state/rules/worker-container-name.ts";
import { workerSlug } from "../../text/slugs.ts";
import { mergeSummary } from "../merge/rules/merge-report.ts";
import type { WorkerFacts } from "./rules/story-facts.ts";
import { createSwarmSummary, type SwarmSummary, type WorkerFindings } from "./rules/summary.ts";

export interface SummarizeDeps {
  /** Reads facts about a worker and its stories from the host's journals of the worker's messages. */
  readonly readFacts: (swarmId: string, slug: string) => Promise<WorkerFacts>;
  /** Reads a task file; returns null if the file is gone or has become invalid. */
  readonly readTask: (path: string) => Promise<TaskFile | null>;
  readonly work: Pick<WorkRepository, "changes" | "sensitivePaths" | "hasCommit">;
  /** Reads the stored proof report about a worker's result; returns null if there is none. */
  readonly readProof: (swarmId: string, slug: string) => Promise<ProofReport | null>;
  /** Reads the stored report of the swarm's last merge; returns null if there was no merge. */
  readonly readMerge: (swarmId: string) => Promise<MergeReport | null>;
  /** Returns whether a process owns the swarm, so that its workers may still change. */
  readonly isOwned: () => Promise<boolean>;
  readonly clock: () => Date;
}

/** The maximum numbers of commits and of paths that a summary lists for each worker. */
const [maxCommits, maxPaths] = [100, 100];
/** The maximum number of workers that are summarised at once. Each of them needs several git processes. */
const atOnce = 4;

/**
 * Returns a summary of a swarm and the user's next steps, from the swarm's state, the host's journals, the
 * task files and the commits. Works without any container.
 */
export async function summarizeSwarm(deps: SummarizeDeps, state: SwarmState): Promise<SwarmSummary> {
  const findings: WorkerFindings[] = [];
  for (let at = 0; at < state.containers.length; at += atOnce) {
    const some = state.containers.slice(at, at + atOnce);
    findings.push(...(await Promise.all(some.map((record) => gatherFindings(deps, state, record)))));
  }
  const merged = await deps.readMerge(state.swarmId);
  return createSwarmSummary(state, findings, {
    now: deps.clock(),
    isOwned: await deps.isOwned(),
    merge: merged && mergeSummary(merged),
  });
}

async function gatherFindings(
  deps: SummarizeDeps,
  { swarmId }: SwarmState,
  record: ContainerRecord,
): Promise<WorkerFindings> {
  const slug = workerSlug(record);
  const [facts, taskFile, looked, proof] = await Promise.all([
    deps.readFacts(swarmId, slug),
    deps.readTask(record.taskFilePath),
    readWork(deps, record),
    deps.readProof(swarmId, slug),
  ]);
  const unfinishedById = new Map<string, string>();
  for (const { id: storyId, status } of record.stories) {
    const storyFacts = facts.storyById.get(storyId);
    if (
      status !== "failed" ||
      !storyFacts?.failedCommit ||
      !(await deps.work.hasCommit(storyFacts.failedCommit))
    )
      continue;
    unfinishedById.set(storyId, failedStoryRefName({ swarmId, slug, attempt: storyFacts.attempt, storyId }));
  }
  // A proof of an earlier attempt does not count for the present attempt.
  const isOfThis = proof?.attempt === record.attempt && record.proof !== null;
  return { facts, taskFile, unfinishedById, ...looked, proof: isOfThis ? proof : null };
}

interface LookedAt {
  readonly changes: SummaryChanges | null;
  readonly sensitive: SummarySensitive;
}

const nothingSensitive: SummarySensitive = { paths: [], isCut: false, deleted: { total: 0, paths: [] } };

/**
 * Reads what a worker's result changes in the repository. Returns no changes if the commits are gone, for
 * example because the user removed the worker's ref.
 */
async function readWork(
  { work }: SummarizeDeps,
  { baseCommit, collected }: ContainerRecord,
): Promise<LookedAt> {
  const nothing: LookedAt = { changes: null, sensitive: nothingSensitive };
  if (baseCommit === null || collected === null) return nothing;
  try {
    const { commits, totals, isCut } = await work.changes(baseCommit, collected.commit);
    const { paths, isCut: isMore, deleted } = await work.sensitivePaths(baseCommit, collected.commit);
    return {
      changes: {
        commits: commits.slice(-maxCommits),
        ...totals,
        isCut: isCut || commits.length > maxCommits,
      },
      sensitive: {
        paths: paths.slice(0, maxPaths),
        isCut: isMore || paths.length > maxPaths,
        deleted: { ...deleted, paths: deleted.paths.slice(0, maxPaths) },
      },
    };
  } catch (error) {
    if (error instanceof SwarmError && error.code === "GIT_FAILED") return nothing;
    throw error;
  }
}
