import { setTimeout as delay } from "node:timers/promises";
import { hasUnendedWorkers } from "../../state/rules/swarm-state.ts";
import { currentRecordCorrections, type SwarmStatus } from "../../state/rules/swarm-status.ts";
import type { RecordedStatus } from "../../swarm/read-swarm-status.ts";
import { truncateToWidth } from "../board/text-width.ts";
import type { CommandContext } from "../flags/command.ts";
import type { LiveResult, Output } from "./output.ts";
import {
  ownerLines,
  remarkLines,
  type StatusLinesInput,
  statusDocument,
  statusLines,
  workerRowCells,
} from "./status-lines.ts";
import { alignTable } from "./table.ts";

const reconcileEveryMs = 5_000;
/** The interval in milliseconds at which the status is redrawn, to update its elapsed times. */
const tickMs = 1_000;

type Watched = SwarmStatus | null;

/** The swarm whose status to show. */
export interface WatchedSwarm {
  readonly dependsOn: StatusLinesInput["dependsOn"];
  /** Compares the records with the engine's containers, and returns the status. */
  readonly status: () => Promise<Watched>;
  /** Returns the part of the status that is recorded. */
  readonly recordedStatus: () => Promise<RecordedStatus | null>;
  /** Calls `onChange` whenever the swarm's state may have changed, until the signal aborts. */
  readonly watchState: (onChange: () => void, signal: AbortSignal) => void;
}

/**
 * Shows the swarm's status until every worker has completed or failed and no owner runs. Reads the state file
 * after each change, and queries the container engine every few seconds.
 */
export async function watchStatus(
  { output, signal }: Pick<CommandContext, "output" | "signal">,
  swarm: WatchedSwarm,
): Promise<Watched> {
  const { dependsOn } = swarm;
  const live = output.live();
  if (!live) return watch(swarm, printer(output, dependsOn), signal);
  let last: Watched = null;
  try {
    last = await watch(swarm, drawer(live, dependsOn), signal);
  } finally {
    live.end();
  }
  const final = last;
  if (final) output.result(statusDocument(final), () => statusLines(final, { now: new Date(), dependsOn }));
  return last;
}

async function watch(swarm: WatchedSwarm, show: Show, signal: AbortSignal): Promise<Watched> {
  const ending = new AbortController();
  try {
    const changes = watchChanges(swarm, AbortSignal.any([signal, ending.signal]));
    let status = await swarm.status();
    let reconciledAt = performance.now();
    for (;;) {
      show(status);
      if (status === null || signal.aborted || (!hasUnendedWorkers(status.swarm) && status.owner === null))
        return status;
      const hasChanged = await changes.within(tickMs);
      if (signal.aborted) return status;
      if (performance.now() - reconciledAt >= reconcileEveryMs) {
        status = await swarm.status();
        reconciledAt = performance.now();
      } else if (hasChanged) status = withRecorded(status, await swarm.recordedStatus());
    }
  } finally {
    ending.abort();
  }
}

/**
 * Returns the last status, updated with the state file's new content. Drops corrections of records that have
 * changed since.
 */
function withRecorded(last: SwarmStatus, now: RecordedStatus | null): Watched {
  return now && { ...last, ...now, corrections: currentRecordCorrections(now.swarm, last.corrections) };
}

/**
 * Watches the swarm's state for changes. The function `within` of the result combines all changes since its
 * last call into one.
 */
function watchChanges(
  { watchState }: WatchedSwarm,
  signal: AbortSignal,
): { within: (ms: number) => Promise<boolean> } {
  let changed = Promise.withResolvers<boolean>();
  signal.addEventListener("abort", () => changed.resolve(true), { once: true });
  watchState(() => changed.resolve(true), signal);
  return {
    /**
     * Resolves with true as soon as the state has changed since the last call, or with false after `ms`
     * milliseconds without a change.
     */
    async within(ms) {
      const waiting = new AbortController();
      const late = delay(ms, false, { signal: waiting.signal }).catch(() => false);
      const happened = await Promise.race([changed.promise, late]);
      waiting.abort();
      if (happened) changed = Promise.withResolvers();
      return happened;
    },
  };
}

type Show = (status: Watched) => void;

/**
 * Makes a function that redraws the status in place. If the terminal window is too small, the function omits
 * the last lines.
 */
function drawer(live: LiveResult, dependsOn: StatusLinesInput["dependsOn"]): Show {
  return (status) => {
    const lines = status ? statusLines(status, { now: new Date(), dependsOn }) : [];
    const { rows = 24, columns = 80 } = live.terminal;
    const maxLines = Math.max(2, rows - 1);
    const left = lines.length - maxLines + 1;
    const shown =
      lines.length <= maxLines ? lines : [...lines.slice(0, maxLines - 1), `and ${left} more lines`];
    live.draw(shown.map((line) => truncateToWidth(line, Math.max(1, columns - 1), "...")));
  };
}

/**
 * Makes a function that prints the whole status at its first call, and only the changed lines at later calls.
 */
function printer(output: Output, dependsOn: StatusLinesInput["dependsOn"]): Show {
  const shownByKey = new Map<string, string>();
  return (status) => {
    if (status === null) return;
    const context = { now: new Date(), dependsOn };
    const rows = status.swarm.containers.map((record) => workerRowCells(record, status, context));
    const lines = alignTable(rows);
    // Times and tokens change constantly, so they alone do not make a line count as changed.
    const entries: [key: string, content: string, line: string][] = [
      ...rows.map(([word, slug = "", , stories, , , why], at): [string, string, string] => [
        slug,
        `${word} ${stories} ${why}`,
        lines[at] ?? "",
      ]),
      ...[...ownerLines(status), ...remarkLines(status)].map((line): [string, string, string] => [
        line,
        "",
        line,
      ]),
    ];
    const isFirst = shownByKey.size === 0;
    const changed = entries.filter(([key, content]) => shownByKey.get(key) !== content);
    shownByKey.clear();
    for (const [key, content] of entries) shownByKey.set(key, content);
    if (!isFirst && changed.length === 0) return;
    output.each(statusDocument(status), () =>
      isFirst ? statusLines(status, context) : changed.map(([, , line]) => line),
    );
  };
}
