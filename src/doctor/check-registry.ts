import type { Finding } from "../contract/doctor.ts";
import type { ContainerEngine } from "../engine/engine.ts";
import { finding } from "./finding.ts";

/** Returns the finding of `swarm doctor` about the engine's connection to an image registry. */
export async function checkRegistry(
  engine: Pick<ContainerEngine, "reachesRegistry">,
  signal?: AbortSignal,
): Promise<Finding> {
  return (await engine.reachesRegistry(signal))
    ? finding("registry", "good", "the engine reaches an image registry")
    : finding("registry", "weak", "the engine cannot reach an image registry", null);
}
