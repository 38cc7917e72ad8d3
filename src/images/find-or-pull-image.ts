import type { ContainerEngine } from "../engine/engine.ts";
import type { ImageFacts } from "../engine/images.ts";
import { SwarmError } from "../errors/errors.ts";

/**
 * Returns the image with this reference. If the engine does not have the image, pulls it, with one retry.
 * Never pulls images that only swarm builds.
 */
export async function findOrPullImage(
  engine: ContainerEngine,
  reference: string,
  signal?: AbortSignal,
): Promise<ImageFacts> {
  const { images } = await engine.open();
  const present = await images.find(reference, signal);
  if (present) return present;
  if (/^aimi-sandbox|^sha256:/.test(reference))
    throw new SwarmError("IMAGE_NOT_FOUND", {
      image: reference,
      reason: "the image has not been built on this engine",
    });
  let problem = "";
  for (const _attempt of ["first", "second"]) {
    try {
      await images.pull(reference, signal);
      const pulled = await images.find(reference, signal);
      if (pulled) return pulled;
      problem = "the engine pulled the image, but does not list the image";
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof SwarmError) || error.code === "ENGINE_UNREACHABLE") throw error;
      problem = error.message;
    }
  }
  throw new SwarmError("IMAGE_PULL_FAILED", { image: reference, reason: problem });
}
