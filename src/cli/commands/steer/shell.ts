import { SwarmError } from "../../../errors/errors.ts";
import { requireSwarmState } from "../../../state/find-state.ts";
import { findWorkerByArgument } from "../../../state/rules/choose-workers.ts";
import type { ContainerRecord } from "../../../state/rules/swarm-state.ts";
import { openWorkerTerminal, runCommandInWorker } from "../../../swarm/worker/find-running-container.ts";
import { workerSlug } from "../../../text/slugs.ts";
import {
  argumentAt,
  type CommandContext,
  type CommandHandler,
  variadicArgumentAt,
} from "../../flags/command.ts";
import { withPassThroughExitCodes } from "../../pass-through-exit-codes.ts";
import type { UserTerminal } from "../../user-terminal.ts";

/** The exit code that a shell reports for a program killed by SIGHUP. */
const hungUp = 129;

export const shellCommand: CommandHandler = async (context, args) =>
  withPassThroughExitCodes(context.output, async () => {
    const { project, output, signal } = context;
    const words = variadicArgumentAt(args, 1);
    const command = words[0] === "--" ? words.slice(1) : words;
    const terminal = output.terminal();
    if (terminal === null && command.length === 0)
      throw new SwarmError("WOULD_ASK", {
        question: "which command should run in the sandbox?",
        flag: "`-- command` after the worker's name",
      });
    const record = findWorkerByArgument(await requireSwarmState(project), argumentAt(args, 0));
    output.note(
      `${workerSlug(record)}: you share this sandbox with the agent and run as the agent's user. The agent can see your processes, and your processes end with the agent's turn.`,
    );
    if (terminal !== null) return openTerminal(context, record, command, terminal);
    const { exitCode, stdout, stderr, durationMs } = await output.withInput((input) =>
      runCommandInWorker(
        project,
        record,
        { command, input, onOutput: (chunk) => output.stream(chunk) },
        signal,
      ),
    );
    output.result({ exitCode, stdout, stderr, durationMs });
    return exitCode;
  });

async function openTerminal(
  { project, signal }: CommandContext,
  record: ContainerRecord,
  command: readonly string[],
  terminal: UserTerminal,
): Promise<number> {
  const leaving = new AbortController();
  const until = AbortSignal.any([signal, leaving.signal]);
  const prompt = `${workerSlug(record)}:\\w$ `;
  await using session = await openWorkerTerminal(
    project,
    record,
    { command, prompt, ...terminal.size() },
    until,
  );
  try {
    await terminal.connect(session, (error) => leaving.abort(error));
  } catch (error) {
    if (leaving.signal.aborted) return hungUp;
    throw error;
  }
  return await session.exitCode();
}
