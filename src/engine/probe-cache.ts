import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import writeFileAtomic from "write-file-atomic";
import { readJsonObject } from "../machine/read-json-object.ts";
import { parseProbe } from "./parse-probe.ts";
import type { Probe } from "./rules/isolation.ts";

/** A cache of isolation measurements, so that swarm does not measure a runtime again for each new sandbox. */
export interface ProbeCache {
  find(key: string): Promise<Probe | null>;
  store(key: string, probe: Probe): Promise<void>;
}

interface KeptProbe {
  readonly at: number;
  readonly probe: unknown;
}

/**
 * The maximum age in milliseconds of a stored test of a container runtime. A runtime can be replaced under
 * the same name, and the engine does not report this.
 */
const maxMs = 24 * 60 * 60_000;

/**
 * Stores in a file the results of tests of container runtimes. If a result is missing or too old, the caller
 * tests the runtime again.
 */
export function probeCache(file: string, { clock }: { readonly clock: () => Date }): ProbeCache {
  const read = async (): Promise<Record<string, KeptProbe>> => {
    const kept = (await readJsonObject(file)) as Record<string, KeptProbe | null>;
    const now = clock().getTime();
    return Object.fromEntries(
      Object.entries(kept).flatMap(([key, probe]) =>
        probe && probe.at <= now && now - probe.at < maxMs ? [[key, probe]] : [],
      ),
    );
  };
  return {
    async find(key) {
      const kept = (await read())[key];
      return kept ? parseProbe(JSON.stringify(kept.probe)).catch(() => null) : null;
    },

    async store(key, probe) {
      const kept = { ...(await read()), [key]: { at: clock().getTime(), probe } };
      // Ignore a failure to write the file: each run then measures again.
      await mkdir(dirname(file), { recursive: true })
        .then(() => writeFileAtomic(file, `${JSON.stringify(kept)}\n`))
        .catch(() => {});
    },
  };
}
