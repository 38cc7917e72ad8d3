import { cleanText } from "../../domain/clean-text.ts";
import { countOf } from "../../domain/count-of.ts";
import { SwarmError } from "../../domain/errors.ts";
import { type ExitCode, exitCodes } from "../../domain/exit-codes.ts";
import type { SwarmState } from "../../domain/swarm-state.ts";
import { type CommandContext, type CommandHandler, listAt } from "../command.ts";
import type { SwarmReport } from "../composition.ts";
import { resultLines } from "../result-lines.ts";
import { describeEvent, describeMessage } from "../worker-news.ts";

/** How long agents may take to end by themselves after Ctrl-C. */
const graceMs = 10_000;

export const start: CommandHandler = async (context, args, { again, strict, all }) => {
  const files = listAt(args, 0);
  if (all && files.length > 0)
    throw new SwarmError("USAGE", { message: "--all and the names of task files exclude each other" });
  if (!all && files.length === 0)
    throw new SwarmError("WOULD_ASK", { question: "which task files?", flag: "their names, or --all" });
  const words = { files, again: again === true, strict: strict === true };
  return carryOut(context, (report) => context.swarm.swarm().start(words, report));
};

export const resume: CommandHandler = async (context) =>
  carryOut(context, (report) => context.swarm.swarm().resume(report));

async function carryOut(
  { output, signal }: CommandContext,
  work: (report: SwarmReport) => Promise<SwarmState | null>,
): Promise<number> {
  const halt = new AbortController();
  const ask = (): void => {
    output.note("Stopping: agents are asked to end, and their work is kept. Ctrl-C again leaves at once.");
    halt.abort({ reason: "asked to stop", graceMs });
  };
  if (signal.aborted) ask();
  else signal.addEventListener("abort", ask, { once: true });
  const state = await output.during("Carrying out", (onStep) =>
    work({
      onStep,
      planned: ({ warnings }) => {
        for (const warning of warnings) output.note(`warning: ${cleanText(warning, 1_000)}`);
      },
      tell: (event) => say(onStep, describeEvent(event)),
      onMessage: (worker, message) => say(onStep, describeMessage(worker.slug, message)),
      halt: halt.signal,
      signal: new AbortController().signal,
    }),
  );
  if (state === null) {
    output.result({ swarm: null }, () => ["Nothing to carry out: every task file was carried out before."]);
    output.next("`swarm start --all --again` repeats them");
    return exitCodes.done;
  }
  output.result({ swarm: state }, () => resultLines(state));
  const { exit, next } = outcomeOf(state);
  output.next(next);
  return exit;
}

function say(onStep: (step: string) => void, line: string | null): void {
  if (line !== null) onStep(line);
}

function outcomeOf({ containers }: SwarmState): { exit: ExitCode; next: string } {
  const failed = containers.filter(({ status }) => status === "failed").length;
  if (containers.some(({ status }) => status !== "completed" && status !== "failed"))
    return { exit: exitCodes.stillRunning, next: "`swarm resume` goes on where this ended" };
  if (failed === 0) return { exit: exitCodes.done, next: "`git log --all --oneline` shows the branches" };
  return {
    exit: exitCodes.workersFailed,
    next: `${countOf(failed, "worker")} failed; .aimi/swarms has their journals`,
  };
}
