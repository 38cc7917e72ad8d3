import { SwarmError } from "../errors/errors.ts";
import type { Project } from "../project/project.ts";
import { requireSwarmState } from "../state/find-state.ts";
import { findWorkersByArguments } from "../state/rules/choose-workers.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import { describeHolder } from "../text/lock-holder.ts";
import { ownSwarm } from "./own.ts";
import type { OwnerRequest, SwarmRunCallbacks } from "./owner-request.ts";
import { sendToOwner } from "./send-to-owner.ts";

export interface RetryWorkersResult {
  readonly kind: "nothing" | "asked" | "carried out";
  readonly state: SwarmState;
}

/** Retries failed and stopped workers. If an owner is already running, asks this owner to retry them. */
export async function retryWorkersOfSwarm(
  project: Project,
  { workers, ...request }: OwnerRequest & { readonly workers: readonly string[] },
  report: SwarmRunCallbacks,
): Promise<RetryWorkersResult> {
  const state = await requireSwarmState(project);
  // A running owner cannot receive a branch with a retry command.
  if (request.onto !== undefined) await refuseOwner(project);
  const chosen = findWorkersByArguments(state, workers);
  const own = async (records: typeof chosen): Promise<RetryWorkersResult> => {
    const retry = records.map(({ containerName }) => containerName);
    return { kind: "carried out", state: await ownSwarm(project, { ...request, retry, works: [] }, report) };
  };
  if (request.onto !== undefined) return own(chosen);
  const ended = chosen.filter(({ status }) => status === "failed" || status === "stopped");
  if (ended.length === 0) return { kind: "nothing", state };
  // A running owner would ignore flags that change settings.
  if ((await project.settings()).explained.some(({ origin }) => origin === "flag"))
    await refuseOwner(project);
  const commands = ended.map(
    ({ containerName: name }) => ({ of: "container", name, wish: "retry" }) as const,
  );
  // This process runs no work yet, so `halt` only ends the wait for the owner's answer.
  if (await sendToOwner(project, commands, AbortSignal.any([report.signal, report.halt])))
    return { kind: "asked", state: await requireSwarmState(project) };
  return own(ended);
}

async function refuseOwner({ state }: Pick<Project, "state">): Promise<void> {
  const holder = await (await state.owner()).holder();
  if (holder !== null) throw new SwarmError("OWNED_BY_ANOTHER", { holder: describeHolder(holder) });
}
