import { isPathBelow, joinPath } from "../../../text/tree-path.ts";
import type {
  DependencyLayer,
  DependencyLayerOptions,
  PathWithoutDependencyLayer,
} from "./dependency-layer.ts";
import { findJavascriptInstallObstacle } from "./javascript-obstacle.ts";
import { type JavascriptPackageManager, renderJavascriptInstall } from "./javascript-tool.ts";
import {
  isJsonObject,
  type JsonObject,
  parseJsonObject,
  readYamlList,
  stringItemsOf,
} from "./manifest-text.ts";
import {
  type FolderLayerVerdict,
  findWorkspaceMembers,
  type LayerDetector,
  type ManifestTree,
} from "./manifest-tree.ts";

/**
 * The known lockfiles with their package managers, in order of preference. If a folder has several
 * lockfiles, swarm uses the one of the package manager that package.json names, otherwise the first in this
 * list.
 */
const lockfiles: readonly (readonly [name: string, manager: JavascriptPackageManager])[] = [
  ["pnpm-lock.yaml", "pnpm"],
  ["yarn.lock", "yarn"],
  ["bun.lock", "bun"],
  ["bun.lockb", "bun"],
  ["npm-shrinkwrap.json", "npm"],
  ["package-lock.json", "npm"],
];

const configurations: Readonly<Record<JavascriptPackageManager, readonly string[]>> = {
  npm: [".npmrc"],
  pnpm: [".npmrc", "pnpm-workspace.yaml", ".pnpmfile.cjs", ".pnpmfile.mjs"],
  yarn: [".npmrc", ".yarnrc", ".yarnrc.yml"],
  bun: [".npmrc", "bunfig.toml"],
};

/**
 * Finds the dependency layers of an image for folders with both a package.json and a lockfile. The
 * repository's root folder needs no lockfile.
 */
export const javascriptLayers: LayerDetector = {
  manifests: ["package.json"],
  judge,

  complete: ({ layers, leftOut }, tree) => ({
    layers,
    leftOut: [...leftOut, ...losingLocks(tree, layers)],
  }),
};

function judge(tree: ManifestTree, folder: string, options: DependencyLayerOptions): FolderLayerVerdict {
  const path = joinPath(folder, "package.json");
  const locks = lockfiles.filter(([name]) => tree.has(joinPath(folder, name)));
  if (locks.length === 0 && folder.includes("/")) return null;
  const manifest = parseJsonObject(tree.text(path));
  if (!manifest) return { path, reason: "the file is not a JSON object, or is too large to read" };

  const { packageManager } = manifest;
  const wanted = typeof packageManager === "string" ? packageManager : "";
  const lock = locks.find(([, manager]) => wanted.startsWith(`${manager}@`)) ?? locks[0];
  const manager = lock?.[1] ?? "npm";
  const workspaces =
    manager === "pnpm"
      ? readYamlList(tree.text(joinPath(folder, "pnpm-workspace.yaml")), "packages")
      : workspacesOf(manifest);
  const members = findWorkspaceMembers(tree, folder, "package.json", workspaces);
  const manifests = [path, ...members.map((member) => joinPath(member, "package.json"))];
  const contents = manifests.map((each) => parseJsonObject(tree.text(each)) ?? {});
  if (!lock && !contents.some(asksForSomething)) return null;
  if (!lock && folder !== "")
    return { path, reason: "the package has no lockfile and is not at the root of the repository" };

  const obstacle = findJavascriptInstallObstacle(tree, { manager, manifests, hasLock: lock !== undefined });
  if (obstacle) return obstacle;

  const lockPath = lock && joinPath(folder, lock[0]);
  const tool = renderJavascriptInstall({
    manager,
    wanted,
    lockText: lockPath && tree.text(lockPath),
    hasYarnrc: tree.has(joinPath(folder, ".yarnrc.yml")),
    isInsidePnpmWorkspace: tree
      .foldersWith("pnpm-workspace.yaml")
      .some((other) => other !== folder && isPathBelow(other, folder)),
    manifests: contents,
    ...options,
  });
  const files = [
    ...manifests,
    ...(lockPath ? [lockPath] : []),
    ...tree.present(folder, ...configurations[manager]),
    ...patchesAndReleases(tree, folder),
  ];
  return { layer: { manager, files, ...tool }, covers: members };
}

function workspacesOf({ workspaces }: JsonObject): string[] {
  return stringItemsOf(isJsonObject(workspaces) ? workspaces["packages"] : workspaces);
}

function asksForSomething(manifest: JsonObject): boolean {
  return ["dependencies", "devDependencies", "optionalDependencies"].some((field) => {
    const wanted = manifest[field];
    return isJsonObject(wanted) && Object.keys(wanted).length > 0;
  });
}

function patchesAndReleases(tree: ManifestTree, folder: string): string[] {
  const starts = ["patches/", ".yarn/"].map((name) => joinPath(folder, name));
  return tree.manifestsBelow(folder).filter((path) => starts.some((start) => path.startsWith(start)));
}

/**
 * Lists the lockfiles that swarm ignores because it uses another lockfile in the same folder. Both would
 * install packages into the same `node_modules`.
 */
function losingLocks(tree: ManifestTree, layers: readonly DependencyLayer[]): PathWithoutDependencyLayer[] {
  return layers.flatMap(({ folder, files, manager }) =>
    tree
      .present(folder, ...lockfiles.map(([name]) => name))
      .filter((path) => !files.includes(path))
      .map((path) => ({ path, reason: `swarm uses the lockfile of ${manager} in the same folder instead` })),
  );
}
