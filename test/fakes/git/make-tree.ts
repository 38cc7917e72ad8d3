import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const treeBytes: number = 50 * 1024 * 1024;
/** Larger files are bundles that nobody wrote. */
const maxBytes: number = 1024 * 1024;

const packages = fileURLToPath(new URL("../../../node_modules/", import.meta.url));
const isCode = (path: string): boolean => /\.(?:[cm]?[jt]s|json|md)$/.test(path) && !/^\./.test(path);

/** A repository of 50 MB of real code: that of the packages that this project is built with. */
export function makeTree(repository: string): void {
  let bytes = 0;
  for (const path of filesOf(packages)) {
    const { size } = statSync(join(packages, path));
    if (size > maxBytes) continue;
    if (bytes + size > treeBytes) break;
    bytes += size;
    const to = join(repository, "src", path);
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(join(packages, path), to);
  }
  const git = (...args: string[]): void => void execFileSync("git", args, { cwd: repository });
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all", "--force");
  git("-c", "user.name=Bench", "-c", "user.email=bench@example.invalid", "commit", "--quiet", "-m", "Begin");
  git("repack", "-a", "-d", "--quiet");
}

function filesOf(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith("."))
    .flatMap((name) =>
      readdirSync(join(folder, name), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && isCode(entry.name))
        .map((entry) => join(entry.parentPath, entry.name).slice(folder.length)),
    )
    .sort();
}
