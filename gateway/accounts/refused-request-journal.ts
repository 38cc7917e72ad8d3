import type { RefusalReason } from "../../src/contract/gateway.ts";
import type { Journal } from "./journal.ts";

/**
 * Writes to the gateway's journal which requests the gateway refused. Merges repeated refusals into one
 * entry, so that a client cannot fill the disk with them.
 */
export interface RefusedRequestJournal extends Disposable {
  refuse(worker: string | null, what: string, why: RefusalReason): void;
}

interface Repeated {
  readonly worker: string | null;
  readonly what: string;
  readonly why: RefusalReason;
  times: number;
}

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
  const journalOne = ({ worker, what, why, times }: Repeated): void => {
    journal.append({ type: "refused", worker, what, why, times }).catch((error: unknown) => {
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
      const isFull = seen.size >= maxKinds;
      const shown = isFull ? "many different targets" : visible(what);
      const key = JSON.stringify([worker, shown, why]);
      const repeated = seen.get(key);
      if (repeated) repeated.times += 1;
      else {
        seen.set(key, { worker, what: shown, why, times: 0 });
        journalOne({ worker, what: shown, why, times: 1 });
      }
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      journalRepeated();
    },
  };
}

function visible(what: string): string {
  return what.slice(0, maxWhatLength).replace(/[^\x20-\x7e]/g, "?");
}
