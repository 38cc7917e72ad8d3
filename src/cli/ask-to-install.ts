import type { PrivateEngine } from "../ports/private-engine.ts";
import { agrees } from "./agrees.ts";
import type { Output } from "./output.ts";

/** Asks before Debian packages are installed, if any must be; without a terminal `--yes` must have said so. */
export async function askToInstall(output: Output, engine: PrivateEngine, yes: boolean): Promise<boolean> {
  const packages = await engine.missingPackages();
  if (packages.length === 0) return true;
  output.note(`The private engine needs Debian packages: ${packages.join(", ")}`);
  return yes || agrees(output, "Install them?");
}
