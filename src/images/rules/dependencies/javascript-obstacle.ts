import { joinPath, parentFolderOf, resolvePath } from "../../../text/tree-path.ts";
import type { PathWithoutDependencyLayer } from "./dependency-layer.ts";
import type { JavascriptPackageManager } from "./javascript-tool.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "./manifest-text.ts";
import type { ManifestTree } from "./manifest-tree.ts";

const dependencyFields = [
  "dependencies",
  "devDependencies",
  "optionalDependencies",
  "overrides",
  "resolutions",
  "pnpm",
];

interface JavascriptProject {
  readonly manager: JavascriptPackageManager;
  readonly manifests: readonly string[];
  readonly hasLock: boolean;
}

/**
 * Finds a dependency that a package manager cannot install without the project's sources, such as a folder
 * or an archive in the project. Returns null if there is none.
 */
export function findJavascriptInstallObstacle(
  tree: ManifestTree,
  project: JavascriptProject,
): PathWithoutDependencyLayer | null {
  for (const path of project.manifests) {
    const manifest = parseJsonObject(tree.text(path));
    if (!manifest) return { path, reason: "the file is not a JSON object, or is too large to read" };
    for (const [name, wanted] of wantedVersions(manifest)) {
      const missing =
        !project.hasLock && /^(?:workspace|catalog):/.test(wanted)
          ? "which needs a lockfile"
          : missingFolder(tree, project, parentFolderOf(path), wanted);
      if (missing)
        return { path, reason: `the package needs ${shown(name)} from ${shown(wanted)}, ${missing}` };
    }
  }
  return null;
}

/**
 * Returns all dependencies in a package.json with the versions that it requires, including overrides at any
 * depth.
 */
function wantedVersions(manifest: JsonObject): [name: string, wanted: string][] {
  const found: [string, string][] = [];
  const open: unknown[] = dependencyFields.map((field) => manifest[field]);
  for (let next = open.pop(); open.length > 0 || next !== undefined; next = open.pop()) {
    if (!isJsonObject(next)) continue;
    for (const [name, value] of Object.entries(next)) {
      if (typeof value === "string") found.push([name, value]);
      else open.push(value);
    }
  }
  return found;
}

function missingFolder(
  tree: ManifestTree,
  { manager, manifests }: JavascriptProject,
  folder: string,
  wanted: string,
): string | null {
  if (/\.(?:patch|diff)$/.test(wanted) && !wanted.includes(":")) {
    const path = resolvePath(folder, wanted);
    return path !== null && tree.has(path) ? null : "a patch that is not in the folder `patches`";
  }
  const [, scheme = "file", place = wanted] = /^(file|link|portal):(.*)$/.exec(wanted) ?? [];
  if (place === wanted && !/^(?:\.{1,2}\/|\/|~\/)/.test(wanted)) return null;
  const target = resolvePath(folder, place);
  if (target === null) return "which is outside the repository";
  // A link needs only the target's manifest. Other dependencies copy the target's files, which are not in the image yet.
  const isLink = scheme !== "file" || manager === "npm";
  const isIn = manifests.includes(joinPath(target, "package.json"));
  return isLink && isIn ? null : "which is not yet in the image when the dependencies are installed";
}

function shown(text: string): string {
  return text.slice(0, 100);
}
