import { isError, SwarmError } from "../errors/errors.ts";
import { once } from "../text/once.ts";
import { withinCapabilities } from "./capabilities.ts";
import type { ContainerEngine, EngineCandidate, TriedEngineCandidate } from "./engine.ts";
import type { PrivateEngine } from "./private-engine.ts";
import type { ProbeCache } from "./probe-cache.ts";

/** The container engines that a command can use. */
export interface Engines {
  /** The probes of container runtimes that this user has already run. */
  readonly probes: ProbeCache;
  /** Returns the first engine that answers; throws ENGINE_UNREACHABLE if none does. */
  first(): Promise<ContainerEngine>;
  /** Returns the engine at an endpoint, without checking that the engine answers. */
  at(endpoint: string): Promise<ContainerEngine>;
  /**
   * Returns the engine at a recorded endpoint, without checking that it answers. If the endpoint is null,
   * returns the first engine that answers; null if none does.
   */
  recorded(endpoint: string | null): Promise<ContainerEngine | null>;
  /**
   * Returns the first engine that answers. If `recorded` is the endpoint of swarm's private engine and this
   * engine is stopped, starts it first.
   */
  started(recorded: string | null): Promise<ContainerEngine>;
  /** Lists the endpoints at which an engine might answer, in the order to try them. */
  candidates(): Promise<readonly EngineCandidate[]>;
  /**
   * Tries all candidates, and returns facts about each engine or the reason why it cannot be used. Invalid
   * settings choose no engine here, because `swarm doctor` reports them itself.
   */
  tryAll(signal?: AbortSignal): Promise<TriedEngineCandidate[]>;
  /** Returns swarm's private engine, which may be stopped. */
  private(): Promise<PrivateEngine>;
  /** Counts the containers and volumes of all projects on the engine at an endpoint. */
  countContent(endpoint: string, signal: AbortSignal): Promise<EngineContent>;
}

/** The numbers of containers and volumes on an engine. */
export interface EngineContent {
  readonly containers: number;
  readonly volumes: number;
}

export interface EnginesDeps {
  /** Returns the engine's endpoint that a flag or the settings name; null if they name none. */
  readonly chosen: () => Promise<string | null>;
  readonly listCandidates: (endpoints: {
    readonly chosen: string | null;
    readonly privateEndpoint: string;
  }) => Promise<EngineCandidate[]>;
  /** Creates the client of the engine at an endpoint. The scheme of the endpoint decides the kind of engine. */
  readonly connect: (endpoint: string) => Promise<ContainerEngine>;
  readonly privateEngine: () => Promise<PrivateEngine>;
  readonly countContent: Engines["countContent"];
  readonly probes: ProbeCache;
}

/** Gives access to engines. Has one client for each endpoint, so that all its users share the client's limits. */
export function openEngines(deps: EnginesDeps): Engines {
  const clients = new Map<string, Promise<ContainerEngine>>();
  const at = (endpoint: string): Promise<ContainerEngine> => {
    const client = clients.get(endpoint) ?? deps.connect(endpoint).then(withinCapabilities);
    clients.set(endpoint, client);
    return client;
  };
  const candidatesFor = async (chosen: string | null): Promise<EngineCandidate[]> =>
    deps.listCandidates({ chosen, privateEndpoint: (await (await deps.privateEngine()).status()).endpoint });
  const candidates = once(async () => candidatesFor(await deps.chosen()));
  const tryCandidate = async (
    candidate: EngineCandidate,
    signal?: AbortSignal,
  ): Promise<TriedEngineCandidate> => {
    try {
      return { ...candidate, refused: null, info: await (await at(candidate.endpoint)).info(signal) };
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof SwarmError)) throw error;
      return { ...candidate, refused: reasonOf(error, candidate.endpoint), info: null };
    }
  };
  const first = async (): Promise<ContainerEngine> => {
    const tried: string[] = [];
    for (const candidate of await candidates()) {
      const { origin, endpoint, refused } = await tryCandidate(candidate);
      if (refused === null) return at(endpoint);
      tried.push(`${origin} at ${endpoint}: ${refused}`);
    }
    throw new SwarmError("ENGINE_UNREACHABLE", { tried });
  };

  return {
    first,
    at,
    candidates,
    private: deps.privateEngine,
    countContent: deps.countContent,
    probes: deps.probes,

    async tryAll(signal) {
      const chosen = await deps.chosen().catch((error: unknown) => {
        if (error instanceof SwarmError) return null;
        throw error;
      });
      const listed = await candidatesFor(chosen);
      return Promise.all(listed.map((candidate) => tryCandidate(candidate, signal)));
    },

    async recorded(endpoint) {
      if (endpoint !== null) return at(endpoint);
      return first().catch((error: unknown) => {
        if (isError(error, "ENGINE_UNREACHABLE")) return null;
        throw error;
      });
    },

    async started(recorded) {
      const own = await deps.privateEngine();
      const { state, endpoint } = await own.status();
      if (recorded === endpoint && state === "stopped")
        await own.start({ mayInstall: false, reset: false, onStep: () => {} });
      return first();
    },
  };
}

/** Returns in a few words why no engine answers at an endpoint. */
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
