import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import writeFileAtomic from "write-file-atomic";
import type { Probe } from "../domain/isolation.ts";
import type { ProbeCache } from "../ports/probe-cache.ts";

interface KeptProbe {
  readonly at: number;
  readonly probe: unknown;
}

/** A runtime can be replaced under its name without the engine telling. */
const longestMs = 24 * 60 * 60_000;

/** A file of measurements. What it lost or what does not fit any more is measured again. */
export function probeCache(
  file: string,
  {
    parseProbe,
    clock,
  }: { readonly parseProbe: (text: string) => Promise<Probe>; readonly clock: () => Date },
): ProbeCache {
  const read = async (): Promise<Record<string, KeptProbe>> => {
    try {
      const kept = JSON.parse(await readFile(file, "utf8")) as Record<string, KeptProbe>;
      const now = clock().getTime();
      return Object.fromEntries(
        Object.entries(kept).filter(([, { at }]) => at <= now && now - at < longestMs),
      );
    } catch {
      return {};
    }
  };
  return {
    async find(key) {
      const kept = (await read())[key];
      return kept ? parseProbe(JSON.stringify(kept.probe)).catch(() => null) : null;
    },

    async keep(key, probe) {
      const kept = { ...(await read()), [key]: { at: clock().getTime(), probe } };
      // Where nothing can be kept, everything is measured each time.
      await mkdir(dirname(file), { recursive: true })
        .then(() => writeFileAtomic(file, `${JSON.stringify(kept)}\n`))
        .catch(() => {});
    },
  };
}
