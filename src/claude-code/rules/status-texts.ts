import type { ContainerStatus } from "../../contract/swarm-state.ts";
import { isTerminalStatus } from "../../state/rules/container-status.ts";
import { formatCount } from "../../text/format-count.ts";

/** The fields of a swarm's state that a one-line status shows. */
export interface SwarmLineInput {
  readonly swarmId: string;
  readonly containers: readonly {
    readonly status: ContainerStatus;
    readonly usage: { readonly costUsd: number | null } | null;
  }[];
}

/**
 * Renders the state of a swarm as one line for a status line: `swarm 3f2b8c 5/8 done, 2 running, 1 failed,
 * $1.20`.
 */
export function formatStatusLine(swarm: SwarmLineInput, { isOwned }: { readonly isOwned: boolean }): string {
  const cost = swarm.containers.reduce((sum, { usage }) => sum + (usage?.costUsd ?? 0), 0);
  const parts = [
    `${countIn(swarm, "completed")}/${swarm.containers.length} done`,
    ...others(swarm),
    ...(isOver(swarm) || isOwned ? [] : ["no process runs this swarm"]),
    ...(cost > 0 ? [`$${cost.toFixed(2)}`] : []),
  ];
  return `swarm ${shortId(swarm)} ${parts.join(", ")}`;
}

/**
 * Renders one line that informs the agent of a Claude Code session about the worktree's swarm. Null if the
 * swarm has no workers, or if all workers are completed.
 */
export function formatSessionContextLine(
  swarm: SwarmLineInput,
  { isOwned, program }: { readonly isOwned: boolean; readonly program: string },
): string | null {
  const { containers } = swarm;
  if (containers.length === 0 || containers.every(({ status }) => status === "completed")) return null;
  const next = nextFor(swarm, isOwned);
  const state = isOwned ? "is running" : isOver(swarm) ? "has ended and needs attention" : "was interrupted";
  return `swarm ${shortId(swarm)} ${state}: ${countsOf(swarm)}; next: ${program} ${next}`;
}

function nextFor(swarm: SwarmLineInput, isOwned: boolean): string {
  if (isOwned) return "status --json";
  return isOver(swarm) ? "summary --json" : "resume -d --json";
}

function isOver({ containers }: SwarmLineInput): boolean {
  return containers.every(({ status }) => isTerminalStatus(status));
}

const shownStatuses: readonly ContainerStatus[] = ["running", "pending", "stopped", "failed"];

function others(swarm: SwarmLineInput): string[] {
  return shownStatuses.flatMap((status) => {
    const count = countIn(swarm, status);
    return count > 0 ? [`${count} ${status}`] : [];
  });
}

function countIn({ containers }: SwarmLineInput, status: ContainerStatus): number {
  return containers.filter((record) => record.status === status).length;
}

/** Renders in one line how a swarm ended, with the number of workers by status. */
export function formatEndLine(swarm: SwarmLineInput): string {
  return `swarm ${shortId(swarm)} ${isOver(swarm) ? "has ended" : "is not running"}: ${countsOf(swarm)}`;
}

function countsOf(swarm: SwarmLineInput): string {
  const completed = `${countIn(swarm, "completed")} of ${formatCount(swarm.containers.length, "worker")} completed`;
  return [completed, ...others(swarm)].join(", ");
}

function shortId({ swarmId }: SwarmLineInput): string {
  return swarmId.slice(0, 6);
}
