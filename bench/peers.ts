import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findProgram } from "../src/machine/engine-packages.ts";

const cache = fileURLToPath(new URL("../node_modules/.cache/bench-peers", import.meta.url));
const run = promisify(execFile);

/** The engine's own command, pointed at an engine. */
export type Docker = (...words: string[]) => Promise<string>;

export async function dockerFor(endpoint: string): Promise<Docker | null> {
  if ((await findProgram("docker", process.env)) === null) return null;
  return async (...words) =>
    (await run("docker", ["--host", endpoint, ...words], { maxBuffer: 1 << 26 })).stdout;
}

/** A program that people would use instead, from Debian's packages if it is not there; null where it cannot be had. */
export async function debianProgram(name: string, packageName: string = name): Promise<string | null> {
  const found = await findProgram(name, process.env);
  if (found !== null) return found;
  try {
    execFileSync("apt-get", ["install", "--yes", "--no-install-recommends", packageName], {
      ...{ stdio: ["ignore", "ignore", "ignore"], timeout: 180_000 },
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
  } catch {
    // Not root, not Debian, or nothing answers: the caller names it as absent.
    return null;
  }
  return findProgram(name, process.env);
}

/** A package of npm that people would use instead, beside the project's own; null where it cannot be had. */
export async function npmPackage<Module>(name: string, version: string): Promise<Module | null> {
  const folder = join(cache, `${name}-${version}`);
  const place = join(folder, "node_modules", name);
  try {
    if (!existsSync(place)) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "package.json"), "{}");
      const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-save"];
      await run("npm", ["install", ...flags, `${name}@${version}`], { cwd: folder, timeout: 180_000 });
    }
    const { createRequire } = await import("node:module");
    return createRequire(join(folder, "package.json"))(name) as Module;
  } catch {
    // As above.
    return null;
  }
}
