import { join } from "node:path";
import { engineCandidates } from "../engine/engine-candidates.ts";
import { type Engines, openEngines } from "../engine/engines.ts";
import { probeCache } from "../engine/probe-cache.ts";
import type { Host } from "../machine/host.ts";
import { adapterFile } from "../machine/package-files.ts";
import { once } from "../text/once.ts";

/**
 * Gives access to the kinds of engines that swarm knows. Each kind loads when a command first needs it.
 * `chosen` returns the endpoint that a flag or the settings name; null if they name none.
 */
export function createEngines(
  { env, folders, locks, clock }: Pick<Host, "env" | "folders" | "locks" | "clock">,
  chosen: () => Promise<string | null>,
): Engines {
  const hostFunctions = async () => ({
    killStartingPrograms: (await import("../machine/kill-starting-programs.ts")).killStartingPrograms,
    gate: await locks.pauseLock(join(folders.state, "gates")),
  });
  return openEngines({
    chosen,
    probes: probeCache(join(folders.state, "probes.json"), { clock }),
    listCandidates: (endpoints) => engineCandidates({ env, home: folders.home, ...endpoints }),
    async connect(endpoint) {
      const { dockerEngine } = await import("../engine/docker/docker-engine.ts");
      return dockerEngine(endpoint, { adapterFile, hostFunctions });
    },
    async countContent(endpoint, signal) {
      const { countContainersAndVolumes } = await import("../engine/docker/count-engine-content.ts");
      return countContainersAndVolumes(endpoint, signal);
    },
    privateEngine: once(async () => {
      const [{ privateEngine }, { answersPing }] = await Promise.all([
        import("../engine/private/private-engine.ts"),
        import("../engine/docker/engine-http.ts"),
      ]);
      const folder = join(folders.state, "engine");
      return privateEngine({
        folder,
        env,
        lock: locks.at(join(folder, "engine.lock")),
        answers: answersPing,
      });
    }),
  });
}
