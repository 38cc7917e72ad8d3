import type { RefusalReason, Refused } from "../../src/contract/gateway.ts";
import type { Journal } from "./journal.ts";

/**
 * Writes to the gateway's journal which requests the gateway refused. Merges repeated refusals into one
 * entry, so that a client cannot fill the disk with them.
 */
export interface RefusedRequestJournal extends Disposable {
  refuse(worker: string | null, what: string, why: RefusalReason): void;
}

/** A refusal, and how often it was repeated. */
type Repeated = Omit<Refused, "type" | "seq" | "at">;

const everyMs = 10_000;
/**
 * The maximum number of different refusals that get their own journal entries in each period of `everyMs`.
 * Further refusals are merged into entries about "many different targets".
 */
const maxKinds = 100;
const maxWhatLength = 200;

/**
 * Starts to journal refusals. The first refusal of a worker, target and reason gets a journal entry at once;
 * every ten seconds, one more entry counts its repetitions.
 */
export function openRefusedRequestJournal(
  journal: Pick<Journal, "append">,
  complain: (line: string) => void,
): RefusedRequestJournal {
  let seen = new Map<string, Repeated>();
  const journalOne = (refusal: Repeated): void => {
    journal.append({ type: "refused", ...refusal }).catch((error: unknown) => {
      complain(`the gateway could not write a refusal to its journal: ${String(error)}`);
    });
  };
  const journalRepeated = (): void => {
    const before = seen;
    // Remembers a kind that was repeated: its next refusal is counted, and not journalled at once.
    seen = new Map();
    for (const [key, repeated] of before) {
      if (repeated.times === 0) continue;
      journalOne(repeated);
      seen.set(key, { ...repeated, times: 0 });
    }
  };
  const timer = setInterval(journalRepeated, everyMs);
  timer.unref();
  return {
    refuse(worker, what, why) {
      const shown =
        seen.size >= maxKinds
          ? "many different targets"
          : what.slice(0, maxWhatLength).replace(/[^\x20-\x7e]/g, "?");
      const refusal = { worker, what: shown, why };
      const key = JSON.stringify([worker, shown, why]);
      const known = seen.get(key);
      seen.set(key, { ...refusal, times: known ? known.times + 1 : 0 });
      if (!known) journalOne({ ...refusal, times: 1 });
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      journalRepeated();
    },
  };
}
