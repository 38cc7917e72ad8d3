import { isError, SwarmError } from "../errors/errors.ts";
import type { ContainerEngine, EngineCandidate, EngineInfo, TriedEngineCandidate } from "./engine.ts";

export interface FindEngineDeps {
  readonly candidates: () => Promise<EngineCandidate[]>;
  readonly at: (endpoint: string) => Promise<ContainerEngine>;
}

/**
 * Finds the first container engine that answers. Also returns all candidates that were tried. Throws
 * ENGINE_UNREACHABLE if none of them answers.
 */
export async function findEngine(
  deps: FindEngineDeps,
  signal?: AbortSignal,
): Promise<{ engine: ContainerEngine; info: EngineInfo; tried: TriedEngineCandidate[] }> {
  const tried: TriedEngineCandidate[] = [];
  for (const candidate of await deps.candidates()) {
    const result = await tryCandidate(deps, candidate, signal);
    tried.push(result);
    if (result.info) return { engine: await deps.at(candidate.endpoint), info: result.info, tried };
  }
  throw new SwarmError("ENGINE_UNREACHABLE", {
    tried: tried.map(({ origin, endpoint, refused }) => `${origin} at ${endpoint}: ${refused}`),
  });
}

/**
 * Tries every place where a container engine may be. For each of them, returns facts about the engine, or the
 * reason why it cannot be used.
 */
export async function tryEngineCandidates(
  deps: FindEngineDeps,
  signal?: AbortSignal,
): Promise<TriedEngineCandidate[]> {
  const candidates = await deps.candidates();
  return Promise.all(candidates.map((candidate) => tryCandidate(deps, candidate, signal)));
}

async function tryCandidate(
  { at }: FindEngineDeps,
  candidate: EngineCandidate,
  signal?: AbortSignal,
): Promise<TriedEngineCandidate> {
  try {
    return { ...candidate, refused: null, info: await (await at(candidate.endpoint)).info(signal) };
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof SwarmError)) throw error;
    return { ...candidate, refused: reasonOf(error, candidate.endpoint), info: null };
  }
}

function reasonOf(error: SwarmError, endpoint: string): string {
  const reason = isError(error, "ENGINE_UNREACHABLE")
    ? (error.details.tried[0] ?? error.message)
    : error.message;
  const text = reason.replace(`${endpoint}: `, "");
  if (/ENOENT/.test(text) && !endpoint.startsWith("tcp://")) return "the socket does not exist";
  if (/EACCES|EPERM/.test(text)) return "swarm has no permission to use the socket";
  if (/ECONNREFUSED/.test(text)) return "the connection was refused";
  return text;
}
