import { engineFailed } from "../engine-failed.ts";
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
    throw engineFailed(`answer the request ${path}`, `HTTP ${status}`);
  };
  const [containers, listed] = [await ask("/containers/json?all=1"), await ask("/volumes")];
  return {
    containers: countOf(containers),
    volumes: countOf((listed as { Volumes?: unknown }).Volumes ?? []),
  };
}

function countOf(list: unknown): number {
  if (Array.isArray(list)) return list.length;
  throw engineFailed("list all containers and volumes", "the engine's answer is not a list");
}
