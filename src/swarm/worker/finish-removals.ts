import type { ContainerRecord } from "../../contract/swarm-state.ts";
import { labels } from "../../engine/engine.ts";
import { SwarmError } from "../../errors/errors.ts";
import { adapterReportedStatus } from "../../state/rules/reported-status.ts";
import { homeVolumeName } from "../../state/rules/worker-names.ts";
import { workerSlug } from "../../text/slugs.ts";
import { removeWorkerContainerAndVolumes } from "./ensure-container.ts";
import type { SwarmOwnerDeps } from "./swarm-owner-deps.ts";

/**
 * Removes the containers and volumes of ended workers whose removal was interrupted. Skips a worker if its
 * final message is not in the host's journal, or if work that its adapter stored was not imported.
 */
export async function finishInterruptedRemovals(deps: SwarmOwnerDeps): Promise<void> {
  const { volumes, containers, signal, projectId, swarmId } = deps;
  const marks = { [labels.project]: projectId, [labels.swarm]: swarmId, [labels.role]: "worker" };
  const left = new Set(await volumes.list(marks, signal));
  for (const record of (await deps.read()).containers) {
    const { containerName: name, status } = record;
    if (status !== "completed" && status !== "failed") continue;
    const isThere =
      left.has(name) ||
      (status === "completed" && deps.prove === null && left.has(homeVolumeName(name))) ||
      (await containers.inspect(name, undefined, signal)) !== null;
    if (!isThere || !(await isAllHere(deps, record))) continue;
    const worker = { name, slug: workerSlug(record) };
    await removeWorkerContainerAndVolumes(deps, worker, {
      withHome: status === "completed" && deps.prove === null,
    }).catch((error: unknown) => {
      if (!(error instanceof SwarmError)) throw error;
      deps.emit({
        event: "kept",
        worker: worker.slug,
        reason: { code: error.code, message: error.message },
      });
    });
  }
}

/**
 * Returns whether the host has everything from an ended worker: its journal ends with the outcome in the
 * worker's record, and the newest commit that the adapter stored was imported.
 */
async function isAllHere({ channel }: SwarmOwnerDeps, record: ContainerRecord): Promise<boolean> {
  let end: string | null = null;
  let stored: string | null = null;
  const { attempt, collected } = record;
  for await (const message of channel.readJournal({ slug: workerSlug(record), attempt })) {
    end = message.type === "completion" ? message.payload.status : message.type === "error" ? "failed" : null;
    if (message.type === "checkpoint" && message.payload.bundle !== null) stored = message.payload.commit;
  }
  return end === adapterReportedStatus(record) && (stored === null || stored === collected?.commit);
}
