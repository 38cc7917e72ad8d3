import type { Probe } from "./rules/isolation.ts";

/** A cache of isolation measurements, so that swarm does not measure a runtime again for each new sandbox. */
export interface ProbeCache {
  find(key: string): Promise<Probe | null>;
  store(key: string, probe: Probe): Promise<void>;
}
