import type { Probe } from "../domain/isolation.ts";

/** A cache of measured isolation, so that not every new sandbox waits for a measurement. */
export interface ProbeCache {
  find(key: string): Promise<Probe | null>;
  store(key: string, probe: Probe): Promise<void>;
}
