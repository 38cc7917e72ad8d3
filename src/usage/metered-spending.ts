import type { Spending } from "../contract/gateway.ts";
import type { ContainerRecord, DeniedRequest, Usage } from "../contract/swarm-state.ts";
import { mergeTokens, zeroSpending } from "./spending.ts";

/**
 * The maximum number of different denied network requests in a worker's record. The record keeps the newest
 * ones.
 */
const maxDenied = 10;

/**
 * Returns a worker's record with the token usage that the gateway counted, in place of the usage that the
 * agent reported. `total` replaces the worker's usage; `part` is added to the usage of one story.
 */
export function recordWithMeteredSpending(
  record: ContainerRecord,
  total: Spending,
  part: { readonly story: string; readonly spent: Spending } | null,
): ContainerRecord {
  return {
    ...record,
    usage: usageOf(total),
    stories: record.stories.map((story) =>
      story.id === part?.story ? { ...story, usage: sumOf(story.usage, usageOf(part.spent)) } : story,
    ),
  };
}

/**
 * Returns a worker's record with a network request that the gateway denied. If the record already has this
 * request, adds to its count.
 */
export function recordWithDeniedRequest(
  record: ContainerRecord,
  { what, why, times }: DeniedRequest,
): ContainerRecord {
  const isSame = (each: DeniedRequest): boolean => each.what === what && each.why === why;
  const known = record.denied ?? [];
  const before = known.find(isSame)?.times ?? 0;
  const denied = [...known.filter((each) => !isSame(each)), { what, why, times: times + before }];
  return { ...record, denied: denied.slice(-maxDenied) };
}

/**
 * Returns the tokens and costs in a worker's record that the gateway counted; zero if the record has only
 * the agent's own report.
 */
export function meteredSpendingOf({ usage }: Pick<ContainerRecord, "usage">): Spending {
  if (!usage?.isMetered) return zeroSpending;
  const { isMetered, costUsd, unpricedTokens = 0, ...tokens } = usage;
  return { ...tokens, calls: 0, costUsd: costUsd ?? 0, unpricedTokens };
}

function usageOf({ calls, costUsd, unpricedTokens, ...tokens }: Spending): Usage {
  return {
    ...tokens,
    // If all usage is of models without a price, the cost is unknown, not zero.
    costUsd: unpricedTokens > 0 && costUsd === 0 ? null : costUsd,
    unpricedTokens,
    isMetered: true,
  };
}

function sumOf(one: Usage | undefined, other: Usage): Usage {
  if (one === undefined) return other;
  const isKnown = one.costUsd !== null || other.costUsd !== null;
  return {
    ...mergeTokens(one, other),
    costUsd: isKnown ? (one.costUsd ?? 0) + (other.costUsd ?? 0) : null,
    unpricedTokens: (one.unpricedTokens ?? 0) + (other.unpricedTokens ?? 0),
    isMetered: true,
  };
}
