import { setFlagsFromString } from "node:v8";
import type { Reason } from "../contract/swarm-state.ts";
import type { ExitCode } from "../errors/exit-codes.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import type { SwarmRunCallbacks } from "../swarm/owner-request.ts";
import { failureNeedsUser } from "../swarm/worker/rules/retry-policy.ts";
import { reportFileName } from "../text/report-file-name.ts";
import { sanitizeText } from "../text/sanitize-text.ts";
import type { CommandContext } from "./flags/command.ts";
import { planNotes } from "./render/plan-notes.ts";
import { exitCodeAndNextCommand, workerResultLines } from "./render/result-lines.ts";
import { callAtTime, type UnattendedOptions } from "./unattended-options.ts";

/** How many milliseconds agents have to end their turn after the user's first Ctrl-C. */
const graceMs = 60_000;
/**
 * How many milliseconds agents have to end their turn after the time of `--until`. They have longer than
 * after Ctrl-C, because no user waits.
 */
const nightGraceMs = 10 * 60_000;

/** A worker that ended with a problem that only the user can solve, and the reason. */
export interface WorkerNeedingAttention {
  readonly worker: string;
  readonly why: string;
}

/** The progress of a swarm on the user's terminal, with the callbacks and signals for the swarm's owner. */
export interface Progress extends Disposable {
  readonly callbacks: SwarmRunCallbacks;
}

/**
 * Shows the progress of the swarm that a command runs. After the first Ctrl-C, or at the time of `--until`,
 * agents may still end their turn; a second Ctrl-C stops the containers at once.
 */
export function showProgress(
  { output, signal, onSecondSignal, onBegun }: CommandContext,
  until: UnattendedOptions["until"],
  onNeeded: (needed: WorkerNeedingAttention) => void,
): Progress {
  // The owner runs for hours beside its workers, so low memory use matters more than speed.
  setFlagsFromString("--optimize-for-size");
  const halt = new AbortController();
  const stopNow = new AbortController();
  const ask = (): void => {
    output.note(
      "Stopping: agents have one minute to end their turn, and swarm keeps their work. A second Ctrl-C stops the containers at once.",
    );
    halt.abort({ reason: "the user asked to stop", graceMs });
  };
  onSecondSignal(() => {
    output.note("Stopping the containers. A third Ctrl-C exits at once; `swarm resume` continues the swarm.");
    stopNow.abort();
  });
  if (signal.aborted) ask();
  else signal.addEventListener("abort", ask, { once: true });
  const board = output.board();
  const night =
    until &&
    callAtTime(until.at, () => {
      output.note(
        `The time limit --until ${until.text} is reached: swarm starts no more workers, agents have ten minutes to end their turn, and swarm keeps their work.`,
      );
      halt.abort({ reason: `the time limit --until ${until.text} is reached`, graceMs: nightGraceMs });
    });
  const callbacks: SwarmRunCallbacks = {
    onStep: board.step,
    onBegun(state) {
      board.begun(state);
      onBegun?.(state.swarmId);
    },
    onPlanned(plan) {
      for (const line of planNotes(plan)) output.note(line);
    },
    emit(event) {
      board.event(event);
      const { code = "", message = "" } = (event["reason"] ?? {}) as Partial<Reason>;
      if (event.event === "ended" && failureNeedsUser(code))
        onNeeded({ worker: event.worker ?? "", why: sanitizeText(`${code}: ${message}`, 1_000) });
    },
    onMessage: (worker, message) => board.message(worker.slug, message),
    halt: halt.signal,
    stopNow: stopNow.signal,
    signal: new AbortController().signal,
  };
  return {
    callbacks,
    [Symbol.dispose]() {
      night?.[Symbol.dispose]();
      board.close();
    },
  };
}

/** Prints how each worker of a swarm ended, and returns the command's exit code. */
export function reportSwarmEnd({ output }: Pick<CommandContext, "output">, state: SwarmState): ExitCode {
  output.result({ swarm: state }, () => [
    ...workerResultLines(state),
    `report  .aimi/reports/${reportFileName(state)}.md and .html`,
  ]);
  const { exit, next } = exitCodeAndNextCommand(state);
  output.next(next);
  return exit;
}
