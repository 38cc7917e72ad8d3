import type { ContainerRecord } from "../../contract/swarm-state.ts";
import { labels } from "../../engine/engine.ts";
import { requireExpected } from "../../errors/errors.ts";
import { adapterReportedStatus } from "../../state/rules/reported-status.ts";
import { homeVolumeName } from "../../state/rules/worker-container-name.ts";
import { workerSlug } from "../../text/slugs.ts";
import { removeWorkerContainerAndVolumes } from "./ensure-container.ts";
import type { OwnerServices } from "./owner-services.ts";

/**
 * Removes the containers and volumes of ended workers whose removal was interrupted. Skips a worker if its
 * final message is not in the host's journal, or if work that its adapter stored was not imported.
 */
export async function finishInterruptedRemovals(deps: OwnerServices): Promise<void> {
  const { volumes, containers } = deps.sandboxes;
  const { projectId, swarmId } = deps.swarm;
  const { signal } = deps.time;
  const marks = { [labels.project]: projectId, [labels.swarm]: swarmId, [labels.role]: "worker" };
  const left = new Set(await volumes.list(marks, signal));
  for (const record of (await deps.store.read()).containers) {
    const { containerName: name, status } = record;
    if (status !== "completed" && status !== "failed") continue;
    const withHome = status === "completed" && deps.proofs.prove === null;
    const isThere =
      left.has(name) ||
      (withHome && left.has(homeVolumeName(name))) ||
      (await containers.inspect(name, undefined, signal)) !== null;
    if (!isThere || !(await isAllHere(deps, record))) continue;
    const slug = workerSlug(record);
    await removeWorkerContainerAndVolumes(deps, { name, slug }, { withHome }).catch((error: unknown) => {
      requireExpected(error);
      const { code, message } = error;
      deps.events.emit({ event: "kept", worker: slug, reason: { code, message } });
    });
  }
}

/**
 * Returns whether the host has everything from an ended worker: its journal ends with the outcome in the
 * worker's record, and the newest commit that the adapter stored was imported.
 */
async function isAllHere({ channel }: OwnerServices, record: ContainerRecord): Promise<boolean> {
  let end: string | null = null;
  let stored: string | null = null;
  const { attempt, collected } = record;
  for await (const message of channel.readJournal({ slug: workerSlug(record), attempt })) {
    end = message.type === "completion" ? message.payload.status : message.type === "error" ? "failed" : null;
    if (message.type === "checkpoint" && message.payload.bundle !== null) stored = message.payload.commit;
  }
  return end === adapterReportedStatus(record) && (stored === null || stored === collected?.commit);
}
