import { join } from "node:path";
import type { ContainerEngine } from "../engine/engine.ts";
import { SwarmError } from "../errors/errors.ts";
import type { FoundRuntime } from "../sandbox/find-runtime.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { adapterId } from "./engine.ts";
import type { OwnerOperationsDeps } from "./owner.ts";

/**
 * Returns the tag of this repository's image for the commit HEAD, after building the image if it is missing.
 */
export async function ensureImageAtHead(
  deps: Pick<OwnerOperationsDeps, "images" | "repository">,
  withAgents: readonly string[],
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const built = await (await deps.images()).build(
    {
      ...{ agents: null, withAgents, fresh: false, baseOnly: false },
      ...{ ignoreScripts: false, buildNetwork: true },
    },
    { onStep, onEvent: () => {} },
    signal,
  );
  if (!built.project) throw new SwarmError("NOT_A_REPOSITORY", { folder: (await deps.repository()).root });
  return built.project.tag;
}

/** Finds a container runtime with at least the isolation level that the settings require. */
export async function findSandboxRuntime(
  deps: Pick<OwnerOperationsDeps, "clock" | "folders">,
  engine: ContainerEngine,
  { isolation }: Pick<Settings, "isolation">,
  signal: AbortSignal,
): Promise<FoundRuntime> {
  const [{ findRuntime }, { probeCache }, { parseProbe }] = await Promise.all([
    import("../sandbox/find-runtime.ts"),
    import("../engine/probe-cache-file.ts"),
    import("./read-document.ts"),
  ]);
  const probes = probeCache(join(deps.folders.state, "probes.json"), { parseProbe, clock: deps.clock });
  return findRuntime({ engine, probes, adapterId }, isolation, signal);
}
