import type { KeptThing, RemovedThing } from "../../contract/cleanup.ts";
import type { PrivateEngine } from "../../engine/private-engine.ts";
import { formatCount } from "../../text/format-count.ts";
import type { StateFolder } from "./swarm-files-port.ts";

export interface ClearMachineDeps {
  /**
   * Removes the images that swarm built for this project, and returns their names. With `dryRun`, only
   * returns the names.
   */
  readonly pruneImages: (dryRun: boolean) => Promise<readonly string[]>;
  readonly privateEngine: PrivateEngine;
  /** Counts the containers and volumes of all projects on the engine at the given endpoint. */
  readonly contentOf: (
    endpoint: string,
  ) => Promise<{ readonly containers: number; readonly volumes: number }>;
  readonly stateFolder: StateFolder;
}

export interface ClearMachineRequest {
  readonly dryRun: boolean;
  /**
   * The numbers of containers and volumes that the previous step of this cleanup would have removed without
   * `dryRun`. They are subtracted from the engine's content, which still includes them. Zero without
   * `dryRun`.
   */
  readonly removedBefore: {
    readonly endpoint: string | null;
    readonly containers: number;
    readonly volumes: number;
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
  deps: ClearMachineDeps,
  { dryRun, removedBefore }: ClearMachineRequest,
  onStep: (step: string) => void,
): Promise<ClearMachineResult> {
  const removed: RemovedThing[] = [];
  const kept: KeptThing[] = [];
  const { privateEngine, stateFolder } = deps;
  for (const name of await deps.pruneImages(dryRun)) removed.push(thing("image", name));

  if (await stateFolder.hasEngine()) {
    const { endpoint } = await privateEngine.status();
    const why = await whyEngineStays(deps, { dryRun, removedBefore }, onStep);
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

/**
 * Returns why swarm's private engine must stay, or null if it has no containers and volumes. Other projects
 * of the user may have work there.
 */
async function whyEngineStays(
  { privateEngine, contentOf }: ClearMachineDeps,
  { dryRun, removedBefore }: ClearMachineRequest,
  onStep: (step: string) => void,
): Promise<string | null> {
  let { state, endpoint } = await privateEngine.status();
  if (state === "stopped" && !dryRun)
    ({ state, endpoint } = await privateEngine.start({ mayInstall: false, reset: false, onStep }));
  if (state !== "running")
    return "the private engine is not running, so its containers and volumes are unknown";
  const content = await contentOf(endpoint);
  const isSame = removedBefore.endpoint === endpoint;
  const containers = content.containers - (isSame ? removedBefore.containers : 0);
  const volumes = content.volumes - (isSame ? removedBefore.volumes : 0);
  if (containers + volumes === 0) return null;
  return `the private engine still has ${formatCount(containers, "container")} and ${formatCount(volumes, "volume")}`;
}

function thing(kind: RemovedThing["kind"], name: string): RemovedThing {
  return { kind, name, worker: null, swarmId: null };
}
