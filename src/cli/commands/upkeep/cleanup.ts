import type { CleanupDocument, RemovedThing } from "../../../contract/cleanup.ts";
import { usageError } from "../../../errors/errors.ts";
import { exitCodes } from "../../../errors/exit-codes.ts";
import { type CleanupRequest, cleanUpSwarm } from "../../../swarm/cleanup/clean-up-swarm.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";
import { type CommandContext, type CommandHandler, variadicArgumentAt } from "../../flags/command.ts";
import { askForConfirmation } from "../../render/ask-for-confirmation.ts";

export const cleanupCommand: CommandHandler = async (context, args, options) => {
  const request: CleanupRequest = {
    workers: variadicArgumentAt(args, 0),
    all: options["all"] === true,
    discard: options["discard"] === true,
    everything: options["everything"] === true,
    dryRun: options["dryRun"] === true,
  };
  if (request.workers.length > 0 && (request.all || request.everything))
    throw usageError(
      "give either names of workers or the flags --all and --everything: these flags apply to all workers",
    );
  if (request.everything && !request.dryRun && options["yes"] !== true && !(await isAgreed(context, request)))
    return exitCodes.usage;

  const { output, signal, project } = context;
  const { removed, kept, failure } = await output.during("Cleaning up", (onStep) =>
    cleanUpSwarm(project, request, onStep, signal),
  );
  const document: CleanupDocument = { dryRun: request.dryRun, removed, kept };
  output.result(document, () => linesOf(document));
  if (failure) output.note(sanitizeText(`swarm could not remove everything: ${failure.message}`, 1_000));
  else if (kept.some(({ kind }) => kind === "container" || kind === "volume"))
    output.next(
      "`swarm resume` collects the remaining work; `swarm cleanup --discard` also removes work that cannot be collected",
    );
  else if (kept.length > 0)
    output.next("`swarm cleanup --everything --dry-run` lists what swarm would still remove");
  return failure?.exitCode;
};

/**
 * Shows what `swarm cleanup --everything` would remove, and asks the user for consent. The list includes
 * files that all the user's projects share.
 */
async function isAgreed(
  { project, output, signal }: CommandContext,
  request: CleanupRequest,
): Promise<boolean> {
  const planned = await output.during("Looking for leftovers", (onStep) =>
    cleanUpSwarm(project, { ...request, dryRun: true }, onStep, signal),
  );
  for (const line of linesOf({ ...planned, dryRun: true })) output.note(line);
  return askForConfirmation(
    output,
    "Remove everything in this list? All your projects share the list of trusted files, the caches and the private engine.",
  );
}

function linesOf({ dryRun, removed, kept }: CleanupDocument): string[] {
  if (removed.length + kept.length === 0) return ["There is nothing to clean up."];
  return [
    ...removed.map((thing) => `${dryRun ? "would remove" : "removed"} ${nameOf(thing)}`),
    ...kept.map((thing) =>
      sanitizeText(`${dryRun ? "would keep" : "kept"} ${nameOf(thing)}: ${thing.why}`, 1_000),
    ),
  ];
}

function nameOf({ kind, name, worker }: RemovedThing): string {
  const what: Partial<Record<typeof kind, string>> = {
    files: "the files in",
    engine: "the private engine at",
    "state-folder": "the folder",
  };
  const shown = `${what[kind] ?? kind} ${name}`;
  return sanitizeText(worker === null ? shown : `${shown} (${worker})`);
}
