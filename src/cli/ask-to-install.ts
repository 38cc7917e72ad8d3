import type { PrivateEngine } from "../engine/private-engine.ts";
import { askForConfirmation } from "./render/ask-for-confirmation.ts";
import type { Output } from "./render/output.ts";

/**
 * Asks the user before swarm installs the Debian packages that its private engine lacks. Without a terminal,
 * the user must give `--yes`.
 */
export async function askToInstallPackages(
  output: Output,
  engine: PrivateEngine,
  yes: boolean,
): Promise<boolean> {
  const packages = await engine.missingPackages();
  if (packages.length === 0) return true;
  output.note(`The private engine needs Debian packages: ${packages.join(", ")}`);
  return yes || askForConfirmation(output, "Install these packages?");
}
