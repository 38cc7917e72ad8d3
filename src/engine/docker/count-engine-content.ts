import { SwarmError } from "../../errors/errors.ts";
import type { EngineContent } from "../engines.ts";
import { callEngine } from "./engine-http.ts";

/** Counts all containers and all volumes of an engine, including those that other programs created. */
export async function countContainersAndVolumes(
  endpoint: string,
  signal?: AbortSignal,
): Promise<EngineContent> {
  const ask = async (path: string): Promise<unknown> => {
    const { status, body } = await callEngine(endpoint, { path, signal });
    if (status === 200) return JSON.parse(body);
    throw new SwarmError("ENGINE_FAILED", {
      operation: `answer the request ${path}`,
      reason: `HTTP ${status}`,
    });
  };
  const [containers, listed] = [await ask("/containers/json?all=1"), await ask("/volumes")];
  return {
    containers: countOf(containers),
    volumes: countOf((listed as { Volumes?: unknown }).Volumes ?? []),
  };
}

function countOf(list: unknown): number {
  if (Array.isArray(list)) return list.length;
  throw new SwarmError("ENGINE_FAILED", {
    operation: "list all containers and volumes",
    reason: "the engine's answer is not a list",
  });
}
