import { followAdapterLog } from "../../protocol/follow-adapter-log.ts";
import { requireSwarmState, type StateAccess } from "../../state/find-state.ts";
import type { ContainerRecord } from "../../state/rules/swarm-state.ts";
import { findRunningContainer } from "./find-running-container.ts";

/** Yields the last log lines of a running worker's adapter, then its new lines until the container ends. */
export async function* followWorkerLog(
  project: StateAccess,
  worker: ContainerRecord,
  { last }: { readonly last: number },
  signal: AbortSignal,
): AsyncGenerator<string> {
  const state = await requireSwarmState(project);
  const { containers, containerId } = await findRunningContainer(project.engines, state, worker, signal);
  yield* followAdapterLog(containers, { containerId, last }, signal);
}
