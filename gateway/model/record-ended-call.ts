import type { AdmittedWorker, ModelEndpoint, Spending } from "../../src/contract/gateway.ts";
import { countBudgetTokens, maxSpending, spendingOfCall, zeroTokenCounts } from "../../src/usage/spending.ts";
import type { AdmittedWorkers } from "../accounts/admitted-workers.ts";
import type { Journal } from "../accounts/journal.ts";
import type { SpendingLedger } from "../accounts/spending-ledger.ts";
import type { ForwardedModelAnswer } from "./forward-answer.ts";

export interface RecordEndedCallDeps {
  readonly admitted: Pick<AdmittedWorkers, "prices">;
  readonly ledger: SpendingLedger;
  readonly journal: Pick<Journal, "append">;
}

/** A call to a model that has ended, with or without an answer. */
export interface EndedModelCall {
  readonly seq: number;
  /** The name of the model in the request; null if the request names no model. */
  readonly model: string | null;
  readonly maxCost: Spending;
  readonly outcome: ForwardedModelAnswer;
  readonly startedAt: number;
}

/**
 * Adds the usage of an ended call to the spending ledger, and records it in the gateway's journal. Also
 * records a notice for each budget that has newly reached 80 % or 100 %.
 */
export async function recordEndedModelCall(
  deps: RecordEndedCallDeps,
  { worker, endpoint }: Readonly<{ worker: AdmittedWorker; endpoint: ModelEndpoint }>,
  { seq, model, maxCost, outcome, startedAt }: EndedModelCall,
): Promise<void> {
  const { ledger, journal } = deps;
  const { spent, isEstimated } = judgeSpending(deps, outcome, model, maxCost);
  // Updates the ledger before the journal, so that the next call's check of the budgets includes this usage.
  ledger.add(worker.worker, spent);
  // Takes all notices before the first `await`; otherwise a concurrent call would send them again.
  const reached = ledger.takeNotices(worker);
  await Promise.all([
    journal.append({
      type: "closed",
      worker: worker.worker,
      endpoint: endpoint.name,
      opened: seq,
      status: outcome.status,
      model: outcome.usage?.model ?? model,
      spent,
      isEstimated,
      bytesOut: outcome.bytes,
      firstByteMs: outcome.firstByteAt === null ? null : outcome.firstByteAt - startedAt,
      ms: performance.now() - startedAt,
      total: ledger.of(worker.worker),
    }),
    ...reached.map((notice) => journal.append(notice)),
  ]);
}

/**
 * Returns a call's spending as the API reported it. If the report is incomplete, returns the estimated
 * maximum or the reported spending, whichever is larger.
 */
function judgeSpending(
  { admitted }: RecordEndedCallDeps,
  { status, usage, wasSent }: ForwardedModelAnswer,
  requestedModel: string | null,
  maxCost: Spending,
): { readonly spent: Spending; readonly isEstimated: boolean } {
  const counted = spendingOfCall(
    admitted.prices,
    usage?.model ?? requestedModel,
    usage?.counts ?? zeroTokenCounts,
  );
  const isFree = countBudgetTokens(maxCost) === 0 || status >= 400 || (status === 0 && !wasSent);
  if (isFree || (usage?.counts && usage.isComplete)) return { spent: counted, isEstimated: false };
  return { spent: { ...maxSpending(counted, maxCost), calls: 1 }, isEstimated: true };
}
