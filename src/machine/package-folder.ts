import { fileURLToPath } from "node:url";

/** The root folder of swarm's package, whether swarm runs from its sources in `src` or from its bundle in `dist`. */
export const packageFolder: string = fileURLToPath(
  new URL(import.meta.url.endsWith("/src/machine/package-folder.ts") ? "../.." : "..", import.meta.url),
).replace(/\/$/, "");
