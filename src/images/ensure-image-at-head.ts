import { SwarmError } from "../errors/errors.ts";
import type { Repository } from "../git/find-repository.ts";
import type { ImageOperations } from "./image-operations.ts";

/**
 * Returns the tag of this repository's image for the commit HEAD, after building the image if it is missing.
 */
export async function ensureImageAtHead(
  project: {
    readonly images: () => Promise<Pick<ImageOperations, "build">>;
    readonly repository: () => Promise<Repository>;
  },
  withAgents: readonly string[],
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const built = await (await project.images()).build(
    { agents: null, withAgents, fresh: false, baseOnly: false, ignoreScripts: false, buildNetwork: true },
    { onStep, onEvent: () => {} },
    signal,
  );
  if (!built.project) throw new SwarmError("NOT_A_REPOSITORY", { folder: (await project.repository()).root });
  return built.project.tag;
}
