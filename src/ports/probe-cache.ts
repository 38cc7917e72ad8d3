import type { Probe } from "../domain/isolation.ts";

/** What was measured before, so that not every sandbox has to wait for it. */
export interface ProbeCache {
  find(key: string): Promise<Probe | null>;
  keep(key: string, probe: Probe): Promise<void>;
}
