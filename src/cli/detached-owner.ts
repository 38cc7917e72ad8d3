import { SwarmError, usageError } from "../errors/errors.ts";
import { hasUnendedWorkers } from "../state/rules/swarm-state.ts";
import { detachOwner } from "../swarm/detach.ts";
import { checksumsOf, type PlanRequest, planStart } from "../swarm/plan-start.ts";
import { readRecordedStatus } from "../swarm/read-swarm-status.ts";
import { argumentAt, type CommandContext, type CommandHandler } from "./flags/command.ts";
import { reportNothingToRun } from "./render/explain-nothing-to-run.ts";
import { planNotes } from "./render/plan-notes.ts";

/** Starts an owner as a background process, and waits until its swarm has begun. */
export async function startDetachedOwner(
  { project, output, words }: CommandContext,
  planned: PlanRequest | null,
): Promise<undefined> {
  let checksums: readonly string[] = [];
  if (planned !== null) {
    const { plan, works } = await planStart(project, planned);
    checksums = checksumsOf(works);
    for (const line of planNotes(plan)) output.note(line);
    const known = planned.files.length === 0 ? (await readRecordedStatus(project))?.swarm : null;
    const isLeft = known != null && hasUnendedWorkers(known);
    if (!isLeft && !plan.tasks.some(({ action }) => action === "run")) {
      reportNothingToRun(output, plan.tasks, planned.files);
      return;
    }
  }
  const owner = await output.during("Starting in the background", () =>
    detachOwner(project, withoutDetach(words), checksums),
  );
  const { swarmId, pid, log } = owner;
  output.result(owner, () => [
    `swarm ${swarmId} runs in the background as process ${pid}; its output goes to ${log}`,
  ]);
  output.next("`swarm status -w` watches the swarm, `swarm wait` waits for its end, `swarm stop` stops it");
}

/**
 * Removes `-d`, `--detach` and `--json` from the arguments of swarm. Leaves everything after `--` unchanged,
 * because it belongs to the agent's program.
 */
function withoutDetach(words: readonly string[]): string[] {
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  return words.filter((word, index) => index > end || !["-d", "--detach", "--json"].includes(word));
}

/**
 * Makes the internal command `own <verb> …`, which the background owner runs. The owner reports to its parent
 * process that the swarm has begun or could not begin.
 */
export function createBackgroundOwnerCommand(
  verbs: Readonly<Record<string, CommandHandler>>,
): CommandHandler {
  return (context, args, options) => {
    const verb = verbs[argumentAt(args, 0)];
    if (!verb || !process.send)
      throw usageError("do not run `swarm own` yourself: `swarm start -d` starts it");
    let isTold = false;
    const send = (word: object): void => {
      if (isTold || !process.connected) return;
      isTold = true;
      // Ignores a failed send: the parent may have exited, and the owner must continue.
      process.send?.(word, undefined, {}, () => {
        if (process.connected) process.disconnect();
      });
    };
    const onBegun = (swarmId: string): void => send({ begun: swarmId });
    return verb({ ...context, onBegun }, args.slice(1), options).then(
      (exit) => {
        send({ begun: null });
        return exit;
      },
      (error: unknown) => {
        if (error instanceof SwarmError) send({ failed: { code: error.code, details: error.details } });
        throw error;
      },
    );
  };
}
