// Runs one of the project's scripts under the project's own Node 24, after installing missing packages.
// Plain JavaScript without packages: it must work on a clone that has no node_modules yet, under Node 20 too.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const node = join(root, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");

const installed = installPackages();
if (installed !== 0) process.exit(installed);

const [program, ...args] = process.argv.slice(2);
const path = `${dirname(node)}${delimiter}${process.env.PATH ?? ""}`;
const run = spawnSync(node, [join(root, program), ...args], {
  stdio: "inherit",
  cwd: process.cwd(),
  // The default compile cache would be in the machine's temporary folder.
  env: { ...process.env, PATH: path, NODE_COMPILE_CACHE: join(root, "node_modules", ".cache", "compiled") },
});
if (run.error) throw run.error;
process.exit(run.status ?? 1);

/** Installs the packages of the lock file unless exactly these were installed before. */
function installPackages() {
  const lock = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  const stamp = join(root, "node_modules", ".installed-lock");
  if (existsSync(node) && existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return 0;

  console.error("Installing this project's npm packages into node_modules (npm ci), Node 24 among them …");
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const result = spawnSync(npm, ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", "ignore", "inherit"],
    shell: process.platform === "win32",
  });
  if (result.error || result.status !== 0) {
    console.error(
      "npm could not install the packages. Look at its message above, then run the same command again.",
    );
    return result.status || 1;
  }
  if (!existsSync(node)) {
    console.error(
      "npm did not bring Node 24: the install script of the package `node` was not allowed to run.",
    );
    console.error("Run `npm install-scripts approve node`, then the same command again.");
    return 1;
  }
  writeFileSync(stamp, lock);
  return 0;
}
