import { join } from "node:path";
import type { Project } from "../../project/project.ts";
import { followJournals } from "../../protocol/follow-journals.ts";
import type { JournalledMessage } from "../../protocol/rules/protocol-messages.ts";
import { findAdapterMessageProblem } from "../../schema/find-message-problem.ts";
import { findSwarmState, requireSwarmState, type StateAccess } from "../../state/find-state.ts";
import { isTerminalStatus } from "../../state/rules/container-status.ts";
import { watchState } from "../../state/watch-state.ts";
import { workerSlug } from "../../text/slugs.ts";

export interface WorkerJournalsRequest {
  /** The slug of the worker. */
  readonly worker: string;
  /** The number of the attempt whose messages to yield; null for all attempts. */
  readonly attempt: number | null;
  /** Whether to continue with new messages until the worker ends or no owner runs. */
  readonly follow: boolean;
}

/** Yields a worker's messages that the host has stored. */
export async function* followWorkerJournals(
  project: StateAccess & Pick<Project, "state">,
  { worker, attempt, follow }: WorkerJournalsRequest,
  signal: AbortSignal,
): AsyncGenerator<JournalledMessage> {
  const [{ root }, { swarmId }, owner, stateFile] = await Promise.all([
    project.repository(),
    requireSwarmState(project),
    project.state.owner(),
    project.state.path(),
  ]);
  const isOver = async (): Promise<boolean> => {
    if (!follow) return true;
    // Reads the owner before the state. If the owner has exited by then, the state holds its last writes.
    const isOwned = (await owner.holder()) !== null;
    const now = await findSwarmState(project);
    const record = now?.containers.find((other) => workerSlug(other) === worker);
    if (now?.swarmId !== swarmId || !record || !isOwned || isTerminalStatus(record.status)) return true;
    return attempt !== null && record.attempt > attempt;
  };
  const watch = (onChange: () => void, ending: AbortSignal): void => {
    if (follow) watchState(stateFile, onChange, ending);
  };
  const folder = join(root, ".aimi", "swarms", swarmId, worker);
  yield* followJournals({ folder, attempt, isOver, watch }, findAdapterMessageProblem, signal);
}
