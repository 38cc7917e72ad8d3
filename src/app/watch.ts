import { join } from "node:path";
import type { WatchOperations } from "../cli/composition.ts";
import type { ContainerEngine } from "../engine/engine.ts";
import { SwarmError } from "../errors/errors.ts";
import type { EnvironmentVariables } from "../machine/user-folders.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import type { ContainerRecord, SwarmState } from "../state/rules/swarm-state.ts";
import type { StateFile } from "../state/state-file.ts";
import type { StateStore } from "../state/state-store-port.ts";
import type { RunningWorkerContainer } from "../swarm/worker/find-running-container.ts";
import { workerSlug } from "../text/slugs.ts";
import { createReviewOperations, type ReviewOperationsDeps } from "./review.ts";

export interface WatchOperationsDeps extends Omit<ReviewOperationsDeps, "state"> {
  readonly stateFile: () => Promise<StateFile>;
  readonly stateStore: () => Promise<StateStore>;
  /**
   * Returns the container engine at the given endpoint, without checking that it answers. If the endpoint is
   * null, returns the first engine that answers, or null if none answers.
   */
  readonly findEngine: (endpoint: string | null) => Promise<ContainerEngine | null>;
  readonly env: EnvironmentVariables;
}

/** Creates the operations that observe a running swarm. */
export function createWatchOperations(deps: WatchOperationsDeps): WatchOperations {
  const state = async (): Promise<SwarmState> => {
    const found = await deps.findState();
    if (!found) throw new SwarmError("STATE_MISSING", { file: ".aimi/swarm-state.json" });
    return found;
  };

  const watcher = async () => {
    const { watchState } = await import("../state/watch-state.ts");
    const { stateFile } = (await deps.stateFile()).paths;
    return (onChange: () => void, signal: AbortSignal) => watchState(stateFile, onChange, signal);
  };

  const runningWorker = async (
    record: ContainerRecord,
    signal: AbortSignal,
  ): Promise<RunningWorkerContainer> => {
    const { findRunningContainer } = await import("../swarm/worker/find-running-container.ts");
    return findRunningContainer(deps, await state(), record, signal);
  };

  return {
    state,
    ...createReviewOperations({ ...deps, state }),

    async *journals({ worker, attempt, follow }, signal) {
      const [{ followJournals }, { findAdapterMessageProblem }, { root }, { swarmId }] = await Promise.all([
        import("../protocol/follow-journals.ts"),
        import("../schema/find-message-problem.ts"),
        deps.repository(),
        state(),
      ]);
      const owner = await deps.ownerLock();
      const isOver = async (): Promise<boolean> => {
        if (!follow) return true;
        // Reads the owner before the state. If the owner has exited by then, the state holds its last writes.
        const isOwned = (await owner.holder()) !== null;
        const now = await deps.findState();
        const record = now?.containers.find((other) => workerSlug(other) === worker);
        if (now?.swarmId !== swarmId || !record || !isOwned || isTerminalStatus(record.status)) return true;
        return attempt !== null && record.attempt > attempt;
      };
      const folder = join(root, ".aimi", "swarms", swarmId, worker);
      const watch = follow ? await watcher() : () => {};
      yield* followJournals({ folder, attempt, isOver, watch }, findAdapterMessageProblem, signal);
    },

    async *tail(record, { last }, signal) {
      const { followAdapterLog } = await import("../protocol/follow-adapter-log.ts");
      const { containers, containerId } = await runningWorker(record, signal);
      yield* followAdapterLog(containers, { containerId, last }, signal);
    },

    async wait(words, signal) {
      const { waitForWorkers } = await import("../swarm/wait-for-workers.ts");
      const [store, owner, watch] = await Promise.all([deps.stateStore(), deps.ownerLock(), watcher()]);
      return waitForWorkers({ store, owner, watch }, words, signal);
    },

    async openTerminal(record, words, signal) {
      const { openAgentTerminal } = await import("../sandbox/command/agent-shell.ts");
      const term = deps.env["TERM"] ?? "";
      // Replaces TERM if it is no valid name of a terminal, because it is passed into the container.
      const known = { ...words, term: /^[\w.+-]{1,50}$/.test(term) ? term : "dumb" };
      return openAgentTerminal(await runningWorker(record, signal), known, signal);
    },

    async runInside(record, request, signal) {
      const { runCommandAsAgentUser } = await import("../sandbox/command/agent-shell.ts");
      return runCommandAsAgentUser(await runningWorker(record, signal), request, signal);
    },
  };
}
