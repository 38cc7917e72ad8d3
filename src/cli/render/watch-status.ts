import { setTimeout as delay } from "node:timers/promises";
import {
  areWorkersCompletedOrFailed,
  currentRecordCorrections,
  type SwarmStatus,
} from "../../state/rules/swarm-status.ts";
import { truncateToWidth } from "../board/text-width.ts";
import type { StatusAndCleanupOperations } from "../composition.ts";
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

/**
 * Shows the swarm's status until every worker has completed or failed and no owner runs. Reads the state file
 * after each change, and queries the container engine every few seconds.
 */
export async function watchStatus(
  { output, signal }: Pick<CommandContext, "output" | "signal">,
  upkeep: StatusAndCleanupOperations,
): Promise<Watched> {
  const dependsOn = await upkeep.taskDependencies();
  const live = await output.live();
  if (!live) return watch(upkeep, printer(output, dependsOn), signal);
  let last: Watched = null;
  try {
    last = await watch(upkeep, drawer(live, dependsOn), signal);
  } finally {
    await live.end();
  }
  const final = last;
  if (final) output.result(statusDocument(final), () => statusLines(final, { now: new Date(), dependsOn }));
  return last;
}

async function watch(upkeep: StatusAndCleanupOperations, show: Show, signal: AbortSignal): Promise<Watched> {
  const ending = new AbortController();
  try {
    const changes = await watchChanges(upkeep, AbortSignal.any([signal, ending.signal]));
    let status = await upkeep.status();
    let reconciledAt = performance.now();
    for (;;) {
      show(status);
      if (
        status === null ||
        signal.aborted ||
        (areWorkersCompletedOrFailed(status.swarm) && status.owner === null)
      )
        return status;
      const hasChanged = await changes.within(tickMs);
      if (signal.aborted) return status;
      if (performance.now() - reconciledAt >= reconcileEveryMs) {
        status = await upkeep.status();
        reconciledAt = performance.now();
      } else if (hasChanged) status = withRecorded(status, await upkeep.recordedStatus());
    }
  } finally {
    ending.abort();
  }
}

/**
 * Returns the last status, updated with the state file's new content. Drops corrections of records that have
 * changed since.
 */
function withRecorded(
  last: SwarmStatus,
  now: Awaited<ReturnType<StatusAndCleanupOperations["recordedStatus"]>>,
): Watched {
  return now && { ...last, ...now, corrections: currentRecordCorrections(now.swarm, last.corrections) };
}

/**
 * Watches the swarm's state for changes. The function `within` of the result combines all changes since its
 * last call into one.
 */
async function watchChanges(
  upkeep: StatusAndCleanupOperations,
  signal: AbortSignal,
): Promise<{ within: (ms: number) => Promise<boolean> }> {
  let changed = Promise.withResolvers<boolean>();
  signal.addEventListener("abort", () => changed.resolve(true), { once: true });
  await upkeep.watchState(() => changed.resolve(true), signal);
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
        ...([slug, `${word} ${stories} ${why}`, lines[at] ?? ""] as const),
      ]),
      ...[...ownerLines(status), ...remarkLines(status)].map((line): [string, string, string] => [
        ...([line, "", line] as const),
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
