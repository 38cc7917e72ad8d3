import { invalidValue, usageError } from "../../../errors/errors.ts";
import { exitCodes } from "../../../errors/exit-codes.ts";
import type { OwnerRequest, SwarmRunCallbacks } from "../../../swarm/owner-request.ts";
import { readRecordedStatus } from "../../../swarm/read-swarm-status.ts";
import { notifyUser } from "../../../swarm/report/notify-user.ts";
import type { NoticeReason } from "../../../swarm/report/rules/notice.ts";
import { resumeSwarm } from "../../../swarm/resume.ts";
import { retryWorkersOfSwarm } from "../../../swarm/retry.ts";
import { type StartSwarmRequest, type StartSwarmResult, startSwarm } from "../../../swarm/start.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";
import { workerSlug } from "../../../text/slugs.ts";
import { chooseTasks, findNamedTaskFiles } from "../../choose-tasks.ts";
import { createBackgroundOwnerCommand, startDetachedOwner } from "../../detached-owner.ts";
import {
  type CommandContext,
  type CommandHandler,
  type CommandOptions,
  variadicArgumentAt,
} from "../../flags/command.ts";
import { reportNothingToRun } from "../../render/explain-nothing-to-run.ts";
import { reportSwarmEnd, showProgress, type WorkerNeedingAttention } from "../../show-progress.ts";
import { parseUnattendedOptions, type UnattendedOptions } from "../../unattended-options.ts";

export const startCommand: CommandHandler = async (context, args, options) => {
  const { again, strict, all, append, force, planned } = options;
  const night = parseUnattendedOptions(options, context.output);
  const named = findNamedTaskFiles(variadicArgumentAt(args, 0), options);
  if (all && named.length > 0) throw usageError("--all and the names of task files exclude each other");
  const isNamed = all === true || named.length > 0;
  const files = isNamed ? named : await chooseTasks(context, options);
  if (!isNamed && files.length === 0) return exitCodes.done;
  const request: StartSwarmRequest = {
    ...parseOwnerRequest(options),
    files,
    again: again === true,
    strict: strict === true,
    append: append === true,
    force: force === true,
    ...(Array.isArray(planned) && { planned }),
  };
  // A background owner cannot ask the user, so it gets the files that the user chose.
  const typed = isNamed ? context.words : ["start", ...files, ...context.words.slice(1)];
  const isLeftToAnother = request.append && (await readRecordedStatus(context.project))?.owner != null;
  if (options["detach"] && !isLeftToAnother) return startDetachedOwner({ ...context, words: typed }, request);
  const started = await withProgress(context, night, (report) =>
    startSwarm(context.project, request, report),
  );
  const exit = reportStarted(context, started);
  return started.kind === "carried out" ? endNight(context, night, exit) : exit;
};

/**
 * Shows the progress of the swarm while `work` runs it. Meanwhile, notifies the user of workers that need
 * attention, one notification after another.
 */
async function withProgress<Result>(
  context: CommandContext,
  { until, notify }: Pick<UnattendedOptions, "until" | "notify">,
  work: (report: SwarmRunCallbacks) => Promise<Result>,
): Promise<Result> {
  let sending = Promise.resolve();
  const onNeeded = (needed: WorkerNeedingAttention): void => {
    if (notify !== null) sending = sending.then(() => notifyOrNote(context, notify, needed));
  };
  let result: Result;
  {
    using progress = showProgress(context, until, onNeeded);
    result = await work(progress.callbacks);
  }
  await sending;
  return result;
}

/**
 * After the swarm has ended, merges results and notifies the user, as far as the user's flags say so. Returns
 * the swarm's exit code if the swarm failed, otherwise that of the merge.
 */
async function endNight(
  context: CommandContext,
  { thenMerge, notify }: UnattendedOptions,
  exit: number,
): Promise<number> {
  const { signal } = context;
  let last = exit;
  if (thenMerge && !signal.aborted) {
    const { mergeCommand } = await import("../review/merge.ts");
    const merged = await mergeCommand(context, [], {});
    if (exit === exitCodes.done) last = merged ?? exit;
  }
  if (notify !== null) await notifyOrNote(context, notify, { exit: last });
  return last;
}

/** Runs the command of the flag `--notify`. If the command fails, prints a note. */
async function notifyOrNote(
  { project, output }: Pick<CommandContext, "project" | "output">,
  notify: string,
  occasion: NoticeReason,
): Promise<void> {
  const failure = await notifyUser(project, notify, occasion);
  if (failure !== null) output.note(sanitizeText(`--notify failed: ${failure}`, 500));
}

function reportStarted(context: CommandContext, started: StartSwarmResult): number {
  const { output } = context;
  switch (started.kind) {
    case "carried out":
      return reportSwarmEnd(context, started.state);
    case "appended":
      output.result({ swarm: started.state }, () => [
        `The task files were added to the running swarm: ${started.state.containers
          .filter(({ taskFilePath }) => started.files.includes(taskFilePath))
          .map(workerSlug)
          .join(", ")}`,
      ]);
      output.next("`swarm status -w` shows the progress of all workers");
      return exitCodes.done;
    case "nothing":
      reportNothingToRun(output, started.plan.tasks, started.files);
      return exitCodes.done;
  }
}

export const resumeCommand: CommandHandler = async (context, _args, options) => {
  const request = parseOwnerRequest(options);
  const night = parseUnattendedOptions(options, context.output);
  if (options["detach"]) return startDetachedOwner(context, null);
  const state = await withProgress(context, night, (report) => resumeSwarm(context.project, request, report));
  return endNight(context, night, reportSwarmEnd(context, state));
};

export const retryCommand: CommandHandler = async (context, args, options) => {
  const { onto } = options;
  const request = {
    ...parseOwnerRequest(options),
    workers: variadicArgumentAt(args, 0),
    ...(onto !== undefined && { onto: String(onto) }),
  };
  const { kind, state } = await withProgress(context, { until: null, notify: null }, (report) =>
    retryWorkersOfSwarm(context.project, request, report),
  );
  if (kind === "carried out") return reportSwarmEnd(context, state);
  context.output.result({ swarm: state }, () => [
    kind === "asked"
      ? "The owner of this swarm retries these workers."
      : "There is nothing to retry: none of these workers failed or was stopped.",
  ]);
  context.output.next("`swarm status`");
  return exitCodes.done;
};

export const backgroundOwnerCommand: CommandHandler = createBackgroundOwnerCommand({
  start: startCommand,
  resume: resumeCommand,
});

/** Parses the flags `--fail-fast`, `--max-attempts` and `--swarm-id`. */
export function parseOwnerRequest({ failFast, maxAttempts, swarmId }: CommandOptions): OwnerRequest {
  const attempts = Number(maxAttempts ?? 1);
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > 100) {
    const expected = "a number from 1 to 100";
    throw invalidValue("--max-attempts", maxAttempts, expected);
  }
  return {
    policy: { maxAttempts: attempts, failFast: failFast === true },
    ...(typeof swarmId === "string" && { swarmId }),
  };
}
