import type { AdmittedWorker, ModelEndpoint, Spending } from "../src/domain/generated/gateway.ts";
import { largerSpending, spendingOf, tokensIn } from "../src/domain/spending.ts";
import type { Admitted } from "./admitted.ts";
import type { Journal } from "./journal.ts";
import type { Ledger } from "./ledger.ts";
import type { PassedAnswer } from "./pass-answer.ts";
import { noTokens } from "./read-usage.ts";

export interface CloseDeps {
  readonly admitted: Pick<Admitted, "prices">;
  readonly ledger: Ledger;
  readonly journal: Pick<Journal, "append">;
  readonly now: () => number;
}

/** A call whose answer is over, or that had none. */
export interface EndedCall {
  readonly seq: number;
  /** The model that the request named. */
  readonly model: string | null;
  readonly most: Spending;
  readonly passed: PassedAnswer;
  readonly begun: number;
}

/** Adds a call's usage to the ledger, and journals it. */
export async function closeCall(
  deps: CloseDeps,
  { worker, endpoint }: Readonly<{ worker: AdmittedWorker; endpoint: ModelEndpoint }>,
  { seq, model, most, passed, begun }: EndedCall,
): Promise<void> {
  const { ledger, journal, now } = deps;
  const { spent, isEstimated } = judgeSpending(deps, passed, model, most);
  const closed = {
    ...{ type: "closed" as const, worker: worker.worker, endpoint: endpoint.name, opened: seq },
    ...{ status: passed.status, model: passed.read?.model ?? model, spent, isEstimated },
    ...{
      bytesOut: passed.bytes,
      firstByteMs: passed.firstByteAt === null ? null : passed.firstByteAt - begun,
    },
    ms: performance.now() - begun,
  };
  const at = new Date(now()).toISOString();
  // Updates the ledger before the journal, so that the next call already sees this usage.
  ledger.take({ ...closed, total: ledger.of(worker.worker), seq: seq + 1, at });
  // Marks all notices as sent before the first `await`: otherwise a concurrent call would send them again.
  const reached = ledger.news(worker);
  for (const news of reached) ledger.take({ ...news, seq: 0, at });
  await Promise.all([
    journal.append({ ...closed, total: ledger.of(worker.worker) }),
    ...reached.map((news) => journal.append(news)),
  ]);
}

/** A call's spending: as the API reported it, or the maximum estimate when the report is incomplete. */
function judgeSpending(
  { admitted }: CloseDeps,
  { status, read, isHeard }: PassedAnswer,
  asked: string | null,
  most: Spending,
): { readonly spent: Spending; readonly isEstimated: boolean } {
  const counted = spendingOf(admitted.prices, read?.model ?? asked, read?.counts ?? noTokens);
  const isFree = tokensIn(most) === 0 || status >= 400 || (status === 0 && !isHeard);
  if (isFree || (read?.counts && read.isComplete)) return { spent: counted, isEstimated: false };
  return { spent: { ...largerSpending(counted, most), calls: 1 }, isEstimated: true };
}
