import { join } from "node:path";
import { describeDeniedRequest } from "../../../egress/describe-denied-request.ts";
import { invalidValue } from "../../../errors/errors.ts";
import { readDependsOn } from "../../../schema/read-depends-on.ts";
import { findSwarmState, requireSwarmState } from "../../../state/find-state.ts";
import { findWorkerByArgument } from "../../../state/rules/choose-workers.ts";
import { isTerminalStatus } from "../../../state/rules/container-status.ts";
import type { ContainerRecord } from "../../../state/rules/swarm-state.ts";
import { findWaitingReason } from "../../../state/rules/waiting-reason.ts";
import { readRecordedStatus } from "../../../swarm/read-swarm-status.ts";
import { followWorkerJournals } from "../../../swarm/worker/follow-worker-journals.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";
import { workerSlug } from "../../../text/slugs.ts";
import { argumentAt, type CommandContext, type CommandHandler } from "../../flags/command.ts";
import { renderJournalMessage, storyIdOfMessage } from "../../render/journal-lines.ts";

export const logsCommand: CommandHandler = async (context, args, options) => {
  const { project, output, signal } = context;
  const record = findWorkerByArgument(await requireSwarmState(project), argumentAt(args, 0));
  const worker = workerSlug(record);
  const attempt = attemptIn(options["attempt"], record);
  const story = storyIn(options["story"], record);
  const follow = options["follow"] === true;

  let before: Parameters<typeof renderJournalMessage>[1] = null;
  let hasSpoken = false;
  if (follow && record.lastSeq === 0 && record.attempt === 1) output.note(await whyNothing(context, record));
  for await (const message of followWorkerJournals(project, { worker, attempt, follow }, signal)) {
    hasSpoken = true;
    if (story !== null && storyIdOfMessage(message) !== story) continue;
    const previous = before;
    before = message;
    await output.item(message, () => renderJournalMessage(message, previous).join("\n"));
  }
  if (signal.aborted) return;
  if (!hasSpoken && !follow) output.note(await whyNothing(context, record));
  else if (before === null && story !== null)
    output.note(`${worker} has no log entries about story ${story}.`);
  for (const denied of record.denied ?? []) output.note(`${worker} ${describeDeniedRequest(denied)}`);
  if (follow) await printEnd(context, record);
};

/** Prints why `swarm logs --follow` stopped following the worker. */
async function printEnd({ project, output }: CommandContext, record: ContainerRecord): Promise<void> {
  const worker = workerSlug(record);
  const now = (await findSwarmState(project))?.containers.find((other) => workerSlug(other) === worker);
  if (!now) return;
  const isOver = isTerminalStatus(now.status);
  output.note(
    isOver
      ? `${worker} is ${now.status}.`
      : `${worker} is ${now.status}, and no process is running this swarm.`,
  );
  if (!isOver) output.next("`swarm resume` continues this swarm");
}

function attemptIn(option: unknown, { attempt: newest }: ContainerRecord): number | null {
  if (option === undefined) return null;
  const attempt = Number(option);
  if (Number.isInteger(attempt) && attempt >= 1 && attempt <= newest) return attempt;
  const expected =
    newest === 1 ? "1, because the worker has had only one attempt" : `a number from 1 to ${newest}`;
  throw invalidValue("--attempt", option, expected);
}

function storyIn(option: unknown, { stories }: ContainerRecord): string | null {
  if (typeof option !== "string") return null;
  if (stories.some(({ id }) => id === option)) return option;
  const known = stories.map(({ id }) => id).join(", ");
  const expected = known === "" ? "a story of this worker, but no story is recorded yet" : `one of ${known}`;
  throw invalidValue("--story", option, expected);
}

/** Returns why a worker has no journal to show. */
async function whyNothing({ project }: CommandContext, record: ContainerRecord): Promise<string> {
  const worker = workerSlug(record);
  const found = await readRecordedStatus(project);
  const dependsOn = readDependsOn(join((await project.repository()).root, record.taskFilePath));
  const isOwned = found?.owner != null;
  const waits = found && findWaitingReason(record, found.swarm, { dependsOn, isOwned, now: new Date() });
  const why = waits ?? reasonOf(record, isOwned);
  return `${worker} has no log entries yet: the worker is ${record.status}${why === null ? "" : `, ${why}`}`;
}

function reasonOf({ status, reason }: ContainerRecord, isOwned: boolean): string | null {
  if (reason !== null) return sanitizeText(`${reason.code}: ${reason.message}`);
  if (status === "completed" || status === "failed" || isOwned) return null;
  return "and no process is running this swarm; `swarm resume` continues it";
}
