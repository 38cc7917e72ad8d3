import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import writeFileAtomic from "write-file-atomic";
import type { Probe } from "../domain/isolation.ts";
import type { ProbeCache } from "../ports/probe-cache.ts";

interface KeptProbe {
  readonly at: number;
  readonly probe: unknown;
}

/** Maximum age, because a runtime can be replaced under its name without a notice from the engine. */
const maxMs = 24 * 60 * 60_000;

/** A file of measurements. A missing or outdated measurement is taken again. */
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
      return Object.fromEntries(Object.entries(kept).filter(([, { at }]) => at <= now && now - at < maxMs));
    } catch {
      return {};
    }
  };
  return {
    async find(key) {
      const kept = (await read())[key];
      return kept ? parseProbe(JSON.stringify(kept.probe)).catch(() => null) : null;
    },

    async store(key, probe) {
      const kept = { ...(await read()), [key]: { at: clock().getTime(), probe } };
      // If the file cannot be written, ignore it: each run then measures again.
      await mkdir(dirname(file), { recursive: true })
        .then(() => writeFileAtomic(file, `${JSON.stringify(kept)}\n`))
        .catch(() => {});
    },
  };
}
