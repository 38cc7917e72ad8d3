import type { TurnUsage } from "./agent.ts";

export const noUsage: TurnUsage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
};

export function addUsage(a: TurnUsage, b: TurnUsage): TurnUsage {
  const costs = [a.costUsd, b.costUsd].filter((cost) => cost !== undefined).filter(Number.isFinite);
  return {
    inputTokens: addCounts(a.inputTokens, b.inputTokens),
    outputTokens: addCounts(a.outputTokens, b.outputTokens),
    cacheReadTokens: addCounts(a.cacheReadTokens, b.cacheReadTokens),
    cacheWriteTokens: addCounts(a.cacheWriteTokens, b.cacheWriteTokens),
    ...(costs.length > 0 && { costUsd: costs.reduce(addCost, 0) }),
  };
}

const maxUsd = 1_000_000_000;

function addCost(total: number, cost: number): number {
  return Math.min(maxUsd, total + Math.max(0, cost));
}

const addCounts = (a: number, b: number): number => count(count(a) + count(b));

/**
 * Returns a number that the agent reported as a valid count. The agent is untrusted: an invalid number
 * becomes 0, and a number above the protocol's maximum becomes that maximum.
 */
function count(value: number): number {
  return Number.isFinite(value) && value > 0 ? Math.min(Number.MAX_SAFE_INTEGER, Math.round(value)) : 0;
}
