import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The root folder of swarm's package, whether swarm runs from its sources in `src` or from its bundle in `dist`. */
export const packageFolder: string = fileURLToPath(
  new URL(import.meta.url.endsWith("/src/machine/package-files.ts") ? "../.." : "..", import.meta.url),
).replace(/\/$/, "");

/** The path of the bundled adapter program. */
export const adapterFile: string = join(packageFolder, "dist", "adapter.mjs");

/** The path of the folder with the Dockerfiles and start scripts of swarm's images. */
export const imagesFolder: string = join(packageFolder, "images");

/** Returns the SHA-256 checksum of the bundled adapter, which identifies the adapter's version. */
export async function adapterId(): Promise<string> {
  return createHash("sha256")
    .update(await readFile(adapterFile))
    .digest("hex");
}
