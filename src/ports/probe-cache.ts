import type { Probe } from "../domain/isolation.ts";

/** A cache of probes, so that not every sandbox waits for a measurement. */
export interface ProbeCache {
  find(key: string): Promise<Probe | null>;
  store(key: string, probe: Probe): Promise<void>;
}
