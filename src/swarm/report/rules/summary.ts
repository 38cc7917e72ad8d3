import type { ProofReport } from "../../../contract/proof.ts";
import type {
  StorySummary,
  SummaryChanges,
  SummaryProof,
  SummarySensitive,
  SummaryWork,
  SwarmSummary,
  WorkerSummary,
} from "../../../contract/summary.ts";
import type { ContainerRecord, StoryRecord, SwarmState } from "../../../contract/swarm-state.ts";
import type { TaskFile } from "../../../contract/tasks.ts";
import { describeDeniedRequest } from "../../../egress/describe-denied-request.ts";
import { sanitizeLines, sanitizeText } from "../../../text/sanitize-text.ts";
import { workerSlug } from "../../../text/slugs.ts";
import { nextCommandsForSwarm, nextCommandsForWorker } from "./next-commands.ts";
import { addUsage, type StoryFacts, type WorkerFacts } from "./story-facts.ts";

export type { SwarmSummary };

/** The facts about one worker that the summary needs besides the worker's record in the state file. */
export interface WorkerFindings {
  readonly facts: WorkerFacts;
  /** The content of the worker's task file; null if the file is missing or no longer valid. */
  readonly taskFile: TaskFile | null;
  readonly changes: SummaryChanges | null;
  readonly sensitive: SummarySensitive;
  /**
   * The report of the proof, the check of the worker's result in a fresh sandbox. Null if swarm made no
   * proof, or if the report is missing.
   */
  readonly proof: ProofReport | null;
  /** Maps the ID of each failed story to the git ref that holds the story's unfinished work. */
  readonly unfinishedById: ReadonlyMap<string, string>;
}

/**
 * Summarises a swarm, with commands that the user can run next. `findings` has one entry for each worker, in
 * the order of the workers in the state.
 */
export function createSwarmSummary(
  { swarmId, project, createdAt, engine, containers }: SwarmState,
  findings: readonly WorkerFindings[],
  {
    now,
    isOwned,
    merge,
  }: { readonly now: Date; readonly isOwned: boolean; readonly merge: SwarmSummary["merge"] },
): SwarmSummary {
  const workers = containers.flatMap((record, index): WorkerSummary[] => {
    const found = findings[index];
    return found ? [summarizeWorker(record, found, { now, isOwned })] : [];
  });
  const count = (...statuses: readonly WorkerSummary["status"][]): number =>
    workers.filter(({ status }) => statuses.includes(status)).length;
  const stories = workers.flatMap((worker) => worker.stories);
  return {
    swarmId,
    project: sanitizeText(project.slug),
    createdAt,
    madeAt: now.toISOString(),
    isOwned,
    systemCalls: engine?.systemCalls === undefined ? null : sanitizeText(engine.systemCalls),
    totals: {
      workers: {
        total: workers.length,
        completed: count("completed"),
        failed: count("failed"),
        stopped: count("stopped"),
        running: count("running"),
        pending: count("pending"),
      },
      stories: {
        total: stories.length,
        completed: stories.filter(({ status }) => status === "completed").length,
        failed: stories.filter(({ status }) => status === "failed").length,
      },
      workMs: workers.reduce((sum, { workMs }) => sum + (workMs ?? 0), 0),
      usage: workers.reduce<WorkerSummary["usage"]>((sum, { usage }) => addUsage(sum, usage), null),
    },
    merge,
    workers,
    next: nextCommandsForSwarm(workers, { isOwned }),
  };
}

function summarizeWorker(
  record: ContainerRecord,
  { facts, taskFile, changes, sensitive, proof, unfinishedById }: WorkerFindings,
  { now, isOwned }: { readonly now: Date; readonly isOwned: boolean },
): WorkerSummary {
  const titles = new Map(taskFile?.userStories.map(({ id, title }) => [id, title]));
  const worker: Omit<WorkerSummary, "next"> = {
    worker: workerSlug(record),
    taskFile: sanitizeText(record.taskFilePath, 1_000),
    title: taskFile && sanitizeText(taskFile.metadata.title),
    status: record.status,
    reason: cleanReason(record.reason),
    attempt: record.attempt,
    // If no journal has a message, compute the working time from the record's start time.
    workMs: facts.workMs ?? timeOf(record, now),
    startedAt: record.startedAt,
    finishedAt: record.finishedAt,
    usage: meteredOf(record.usage) ?? facts.usage ?? record.usage,
    denied: (record.denied ?? []).map(describeDeniedRequest),
    base: record.baseCommit,
    work: workOf(record),
    changes,
    sensitive,
    proof: proof && summarizeProof(proof),
    earlier: (record.earlier ?? []).map(({ attempt, code, message }) => ({
      attempt,
      code: sanitizeText(code),
      message: sanitizeText(message, 500),
    })),
    stories: record.stories.map((story) =>
      summarizeStory(story, {
        facts: facts.storyById.get(story.id),
        title: titles.get(story.id) ?? null,
        unfinished: unfinishedById.get(story.id) ?? null,
      }),
    ),
  };
  return { ...worker, next: nextCommandsForWorker(worker, { isOwned }) };
}

function summarizeProof({ verdict, why, checks, weakenedTests, isCut }: ProofReport): SummaryProof {
  return {
    verdict,
    isCut,
    why: why === null ? null : sanitizeText(why, 1_000),
    checks: checks.map(({ command, before, after }) => ({
      command: sanitizeText(command, 1_000),
      before: before.exitCode,
      after: after.exitCode,
      output: after.exitCode === 0 ? "" : sanitizeLines(after.output),
    })),
    weakened: weakenedTests.map(({ path, line }) => sanitizeText(`${path}: ${line}`)),
  };
}

interface FoundStory {
  readonly facts: StoryFacts | undefined;
  readonly title: string | null;
  readonly unfinished: string | null;
}

/**
 * Summarises one story of a worker. Omits the story's output if a later status replaced the status to which
 * it belongs. Counts the usage of all attempts.
 */
function summarizeStory(
  { id, status, attempt, commit, reason, usage }: StoryRecord,
  { facts, title, unfinished }: FoundStory,
): StorySummary {
  const current = facts?.status === status ? facts : null;
  return {
    id: sanitizeText(id),
    title: title === null ? null : sanitizeText(title),
    status,
    attempt,
    output: current === null || current.output === "" ? null : current.output,
    reason: cleanReason(reason ?? current?.reason ?? null),
    commit: commit ?? current?.commit ?? null,
    unfinished,
    workMs: facts?.workMs ?? null,
    usage: meteredOf(usage ?? null) ?? facts?.usage ?? null,
    checks: (current?.checks ?? []).map((check) => ({ ...check, command: sanitizeText(check.command) })),
  };
}

/**
 * Returns a worker's usage if the gateway measured it; null otherwise. The gateway's count is more reliable
 * than the agent's own report.
 */
function meteredOf(usage: ContainerRecord["usage"]): WorkerSummary["usage"] {
  if (!usage?.isMetered) return null;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd } = usage;
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd };
}

function workOf({ collected, branch, branchName }: ContainerRecord): SummaryWork | null {
  if (collected === null) return null;
  const { commit, ref } = collected;
  const wanted = sanitizeText(branchName);
  return { commit, ref, wanted, branch: branch?.done ? branch.ref.replace(/^refs\/heads\//, "") : null };
}

function timeOf({ startedAt, finishedAt }: ContainerRecord, now: Date): number | null {
  if (startedAt === null) return null;
  const endMs = finishedAt === null ? now.getTime() : Date.parse(finishedAt);
  return Math.max(0, endMs - Date.parse(startedAt));
}

function cleanReason(reason: WorkerSummary["reason"]): WorkerSummary["reason"] {
  return reason && { code: reason.code, message: sanitizeText(reason.message, 2_000) };
}
