import type { PrivateEngine } from "../../engine/private-engine.ts";
import { SwarmError } from "../../errors/errors.ts";
import type { Output } from "./output.ts";

/**
 * Asks the user a yes-or-no question, and returns true for yes. Without a terminal, throws WOULD_ASK, which
 * names the flag `--yes`.
 */
export async function askForConfirmation(output: Pick<Output, "ask">, question: string): Promise<boolean> {
  const answer = await output.ask(`${question} [y/N]`);
  if (answer === null) throw new SwarmError("WOULD_ASK", { question, flag: "--yes" });
  return /^y(es)?$/i.test(answer.trim());
}

/**
 * Asks the user before swarm installs the Debian packages that its private engine lacks. Without a terminal,
 * the user must give `--yes`.
 */
export async function askToInstallPackages(
  output: Pick<Output, "ask" | "note">,
  engine: Pick<PrivateEngine, "missingPackages">,
  yes: boolean,
): Promise<boolean> {
  const packages = await engine.missingPackages();
  if (packages.length === 0) return true;
  output.note(`The private engine needs Debian packages: ${packages.join(", ")}`);
  return yes || askForConfirmation(output, "Install these packages?");
}
