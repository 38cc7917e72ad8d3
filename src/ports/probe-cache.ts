import type { Probe } from "../domain/isolation.ts";

/**
 * A cache of isolation measurements. Without it, the creation of every sandbox would repeat the measurements.
 */
export interface ProbeCache {
  find(key: string): Promise<Probe | null>;
  store(key: string, probe: Probe): Promise<void>;
}
