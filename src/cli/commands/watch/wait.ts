import { invalidValue } from "../../../errors/errors.ts";
import { type ExitCode, exitCodes } from "../../../errors/exit-codes.ts";
import { requireSwarmState } from "../../../state/find-state.ts";
import { findWorkersByArguments } from "../../../state/rules/choose-workers.ts";
import type { ContainerRecord } from "../../../state/rules/swarm-state.ts";
import { type WaitResult, waitForWorkers } from "../../../swarm/wait-for-workers.ts";
import { parseDurationMs } from "../../../text/duration-and-size.ts";
import { formatCount } from "../../../text/format-count.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";
import { workerSlug } from "../../../text/slugs.ts";
import { type CommandHandler, variadicArgumentAt } from "../../flags/command.ts";
import type { Output } from "../../render/output.ts";
import { exitCodeAndNextCommand, workerResultLines } from "../../render/result-lines.ts";

const maxMs = 24 * 86_400_000;

export const waitCommand: CommandHandler = async ({ project, output, signal }, args, { timeout }) => {
  const timeoutMs = timeoutIn(timeout);
  const words = variadicArgumentAt(args, 0);
  const state = await requireSwarmState(project);
  const slugs = words.length === 0 ? null : findWorkersByArguments(state, words).map(workerSlug);
  const count = slugs?.length ?? state.containers.length;
  const waited = await output.during(`Waiting for ${formatCount(count, "worker")}`, (onStep) =>
    waitForWorkers(project, { slugs, timeoutMs, onEnded: (record) => onStep(describeEnd(record)) }, signal),
  );
  const { state: now, workers } = waited;
  output.result({ swarm: now }, () => workerResultLines({ ...now, containers: workers }));
  return reportWait(output, waited);
};

function timeoutIn(option: unknown): number | null {
  if (option === undefined) return null;
  const ms = parseDurationMs(String(option));
  if (ms !== undefined && ms <= maxMs) return ms;
  const expected = "a duration such as 90s, 30m or 6h, at most 24d";
  throw invalidValue("--timeout", option, expected);
}

function describeEnd(record: ContainerRecord): string {
  const { status, reason } = record;
  return `${workerSlug(record)}  ${status}${reason ? sanitizeText(`, ${reason.code}: ${reason.message}`) : ""}`;
}

function reportWait(output: Pick<Output, "note" | "next">, { end, workers }: WaitResult): ExitCode {
  const { exit, next } = exitCodeAndNextCommand({ containers: workers });
  const reasons = {
    timeout: "The timeout of `swarm wait` has expired, but not all workers have ended.",
    replaced: "A new swarm has replaced the swarm that this command waited for.",
    unowned: "No process is running this swarm.",
    ended: null,
  };
  const steps = {
    timeout: "`swarm status -w` watches the workers, `swarm wait` waits again",
    replaced: "`swarm status` shows the new swarm",
    unowned: next,
    ended: next,
  };
  const why = reasons[end];
  if (why !== null) output.note(why);
  output.next(steps[end]);
  return end === "timeout" ? exitCodes.stillRunning : exit;
}
