import type { KeptThing, RemovedThing } from "../../contract/cleanup.ts";
import type { EngineContent, Engines } from "../../engine/engines.ts";
import type { ImageOperations } from "../../images/image-operations.ts";
import type { Host } from "../../machine/host.ts";
import { formatCount } from "../../text/format-count.ts";
import { openStateFolder } from "./state-folder.ts";

/** The parts of a project from which a cleanup of the machine removes things. */
export interface MachineAccess {
  readonly engines: Pick<Engines, "private" | "countContent">;
  readonly host: Pick<Host, "folders">;
  images(): Promise<Pick<ImageOperations, "prune">>;
}

export interface ClearMachineRequest {
  readonly dryRun: boolean;
  /**
   * The numbers of containers and volumes that the previous step of this cleanup would have removed without
   * `dryRun`. They are subtracted from the engine's content, which still includes them. Zero without
   * `dryRun`.
   */
  readonly removedBefore: EngineContent & {
    /** The endpoint of the engine that the previous step cleaned up; null if there is no engine. */
    readonly endpoint: string | null;
  };
}

export interface ClearMachineResult {
  readonly removed: readonly RemovedThing[];
  readonly kept: readonly KeptThing[];
}

/**
 * Removes the images of this project, then swarm's private engine if no project has a container or volume
 * there, and then the user's state folder. It is idempotent, so a second run finishes an interrupted one.
 */
export async function clearMachine(
  project: MachineAccess,
  request: ClearMachineRequest,
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<ClearMachineResult> {
  const { dryRun } = request;
  const kept: KeptThing[] = [];
  const privateEngine = await project.engines.private();
  const stateFolder = openStateFolder(project.host.folders.state);
  const removed = await pruneImages(project, request, signal);

  if (await stateFolder.hasEngine()) {
    const { endpoint } = await privateEngine.status();
    const why = await whyEngineStays(project, request, onStep, signal);
    if (why === null) {
      removed.push(thing("engine", endpoint));
      if (!dryRun) await privateEngine.stop({ onStep });
    } else kept.push({ ...thing("engine", endpoint), why });
  }
  if (!(await stateFolder.exists())) return { removed, kept };

  const folder = thing("state-folder", stateFolder.folder);
  if (kept.length > 0)
    return {
      removed,
      kept: [...kept, { ...folder, why: "the folder contains the data of the private engine" }],
    };
  if (!dryRun) {
    onStep(`Removing ${stateFolder.folder}`);
    await stateFolder.remove();
  }
  return { removed: [...removed, folder], kept };
}

/** Removes the images that swarm built for this project, and returns them. With `dryRun`, only returns them. */
async function pruneImages(
  { images }: MachineAccess,
  { dryRun, removedBefore }: ClearMachineRequest,
  signal: AbortSignal,
): Promise<RemovedThing[]> {
  if (removedBefore.endpoint === null) return [];
  const pruned = await (await images()).prune({ all: false, own: true, dryRun }, signal);
  return pruned.map(({ id, tags }) => thing("image", tags.join(" ") || id));
}

/**
 * Returns why swarm's private engine must stay, or null if it has no containers and volumes. Other projects
 * of the user may have work there.
 */
async function whyEngineStays(
  { engines }: MachineAccess,
  { dryRun, removedBefore }: ClearMachineRequest,
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<string | null> {
  const privateEngine = await engines.private();
  let { state, endpoint } = await privateEngine.status();
  if (state === "stopped" && !dryRun)
    ({ state, endpoint } = await privateEngine.start({ mayInstall: false, reset: false, onStep }));
  if (state !== "running")
    return "the private engine is not running, so its containers and volumes are unknown";
  const content = await engines.countContent(endpoint, signal);
  const isSame = removedBefore.endpoint === endpoint;
  const containers = content.containers - (isSame ? removedBefore.containers : 0);
  const volumes = content.volumes - (isSame ? removedBefore.volumes : 0);
  if (containers + volumes === 0) return null;
  return `the private engine still has ${formatCount(containers, "container")} and ${formatCount(volumes, "volume")}`;
}

function thing(kind: RemovedThing["kind"], name: string): RemovedThing {
  return { kind, name, worker: null, swarmId: null };
}
