import { describeGatewayTransport } from "../../agents/agent-access-report.ts";
import type { SwarmStatusDocument } from "../../contract/status.ts";
import { describeDeniedRequest } from "../../egress/describe-denied-request.ts";
import { type ContainerRecord, hasUnendedWorkers } from "../../state/rules/swarm-state.ts";
import type { SwarmStatus } from "../../state/rules/swarm-status.ts";
import { findWaitingReason } from "../../state/rules/waiting-reason.ts";
import { formatDuration } from "../../text/duration-and-size.ts";
import { formatCount } from "../../text/format-count.ts";
import { describeHolder } from "../../text/lock-holder.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";
import { workerSlug } from "../../text/slugs.ts";
import { describeShownRecordCorrection } from "./describe-correction.ts";
import { alignTable } from "./table.ts";

/** Data that rendering the status requires in addition to the `SwarmStatus`. */
export interface StatusLinesInput {
  readonly now: Date;
  /** Returns the names of the task files on which a worker's task depends. */
  readonly dependsOn: (record: ContainerRecord) => readonly string[];
}

/** Makes the JSON document that `swarm status --json` prints. */
export function statusDocument(status: SwarmStatus | null): SwarmStatusDocument {
  const { swarm = null, reconciled = true, owner = null, orphans = [], corrections = [] } = status ?? {};
  return {
    swarm,
    reconciled,
    corrections: corrections.map(
      ({ container, from: { status, containerId, attempt }, action, applied }) => ({
        container,
        applied,
        action,
        from: { status, containerId, attempt },
      }),
    ),
    orphans,
    owner,
  };
}

/** Renders a swarm's status: first the swarm and its owner, then a line per worker, and then remarks. */
export function statusLines(status: SwarmStatus, context: StatusLinesInput): string[] {
  const { swarm } = status;
  const { swarmId, updatedAt, containers } = swarm;
  const rows = containers.map((record) => workerRowCells(record, status, context));
  const heading = ["STATUS", "WORKER", "BRANCH", "STORIES", "TIME", "TOKENS", "REASON"];
  return [
    `swarm ${swarmId}, ${formatCount(containers.length, "worker")}, last changed ${updatedAt}`,
    ...ownerLines(status),
    ...(swarm.gateway ? [describeGatewayTransport(swarm.gateway.road)] : []),
    ...(rows.length > 0 ? alignTable([heading, ...rows]) : []),
    ...remarkLines(status),
  ];
}

/**
 * Returns the cells of a worker's row in the status table. The last cell is the reason for the worker's
 * status.
 */
export function workerRowCells(
  record: ContainerRecord,
  { swarm, owner }: Pick<SwarmStatus, "swarm" | "owner">,
  { now, dependsOn }: StatusLinesInput,
): string[] {
  const { status, branchName, storyProgress, reason } = record;
  const mayWait =
    status === "pending" || record.paused !== null || record.wish !== null || swarm.wish !== null;
  const waits =
    mayWait &&
    findWaitingReason(record, swarm, { dependsOn: dependsOn(record), isOwned: owner !== null, now });
  const why = [waits || [], reason ? `${reason.code}: ${reason.message}` : []].flat().join("; ");
  return [
    status,
    workerSlug(record),
    branchName,
    `${storyProgress.completed}/${storyProgress.total}`,
    timeOf(record, now),
    usageOf(record),
    sanitizeText(why, 200),
  ];
}

/**
 * Renders the line that says which process, if any, is the swarm's owner. Returns no line for a finished
 * swarm without an owner.
 */
export function ownerLines({ swarm, owner }: SwarmStatus): string[] {
  if (owner !== null) return [sanitizeText(`owner: ${describeHolder(owner)}`)];
  return hasUnendedWorkers(swarm) ? ["no process is running this swarm"] : [];
}

/**
 * Renders one line for each remark about the swarm: an engine that does not answer, a difference between
 * record and container, a network request that was denied, or a container without a record.
 */
export function remarkLines({ swarm, reconciled, corrections, orphans, owner }: SwarmStatus): string[] {
  const slugByName = new Map(swarm.containers.map((record) => [record.containerName, workerSlug(record)]));
  const remark = { ownerPid: owner?.pid ?? null, isOwnEngine: swarm.engine !== null };
  return [
    ...(reconciled ? [] : [notReconciled(swarm.engine)]),
    ...corrections.map((correction) => {
      const slug = slugByName.get(correction.container) ?? correction.container;
      return sanitizeText(`${slug}: ${describeShownRecordCorrection(correction, remark)}`, 1_000);
    }),
    ...swarm.containers.flatMap((record) =>
      (record.denied ?? []).map((denied) => `${workerSlug(record)} ${describeDeniedRequest(denied)}`),
    ),
    ...orphans.map(
      (name) => `${sanitizeText(name)}: this container of the worktree has no record in the state file`,
    ),
  ];
}

function notReconciled(engine: SwarmStatus["swarm"]["engine"]): string {
  const who = engine ? `the engine at ${engine.endpoint} does not answer` : "no engine answers";
  return `not reconciled with the engine: ${sanitizeText(who)}; the status below is only the recorded one`;
}

/** Returns which command the user can run next, given the swarm's status. */
export function suggestNextCommand(status: SwarmStatus | null): string {
  if (status === null)
    return "`swarm plan` shows which task files can run, `swarm init` writes an example, `swarm help` lists all commands";
  const { swarm, reconciled, owner, orphans } = status;
  if (!reconciled) return "`swarm doctor` checks the container engine";
  if (owner !== null && hasUnendedWorkers(swarm)) return "`swarm wait` waits until the swarm has ended";
  if (swarm.containers.length === 0) return "`swarm start --all` carries out the task files";
  if (hasUnendedWorkers(swarm) || needsResume(status)) return "`swarm resume` continues this swarm";
  if (orphans.length > 0)
    return "`swarm cleanup --dry-run` shows which containers and volumes are left on the engine";
  return "`swarm summary` shows the results";
}

function needsResume({ corrections }: SwarmStatus): boolean {
  return corrections.some(({ action, applied }) => !applied && action.kind !== "report");
}

function timeOf({ startedAt, finishedAt }: ContainerRecord, now: Date): string {
  if (startedAt === null) return "-";
  const end = finishedAt === null ? now.getTime() : Date.parse(finishedAt);
  const seconds = Math.round((end - Date.parse(startedAt)) / 1000);
  return seconds <= 0 ? "0 s" : formatDuration(seconds * 1000);
}

function usageOf({ usage }: ContainerRecord): string {
  const cost = usage?.costUsd ?? null;
  return cost === null ? tokensOf(usage) : `${tokensOf(usage)}, $${cost.toFixed(2)}`;
}

/** Renders how many tokens a worker's agent has used. */
export function tokensOf(usage: ContainerRecord["usage"]): string {
  if (usage === null) return "-";
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = usage;
  return `${inputTokens + cacheReadTokens + cacheWriteTokens} in, ${outputTokens} out`;
}
