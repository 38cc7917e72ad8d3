import { baseNameOf, compareByDepth, joinPath, parentFolderOf } from "../../../text/tree-path.ts";
import {
  createDependencyLayer,
  type DependencyLayerFindings,
  type DependencyLayerOptions,
} from "./dependency-layer.ts";
import { findJavascriptInstallObstacle } from "./javascript-obstacle.ts";
import { type JavascriptPackageManager, renderJavascriptInstall } from "./javascript-tool.ts";
import {
  createWorkspaceMatcher,
  isJsonObject,
  type JsonObject,
  parseJsonObject,
  readYamlList,
  stringItemsOf,
} from "./manifest-text.ts";
import { type FolderLayerVerdict, findDependencyLayersByFolder, type ManifestTree } from "./manifest-tree.ts";

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
export function findJavascriptLayers(
  tree: ManifestTree,
  options: DependencyLayerOptions,
): DependencyLayerFindings {
  const folders = tree.foldersWith("package.json");
  const found = findDependencyLayersByFolder(folders, (folder) => judge(tree, folder, options));
  return { layers: found.layers, leftOut: [...found.leftOut, ...losingLocks(tree, found)] };
}

function judge(tree: ManifestTree, folder: string, options: DependencyLayerOptions): FolderLayerVerdict {
  const path = joinPath(folder, "package.json");
  const locks = lockfiles.filter(([name]) => tree.has(joinPath(folder, name)));
  if (locks.length === 0 && folder.includes("/")) return null;
  const manifest = parseJsonObject(tree.readText(path));
  if (!manifest) return { path, reason: "the file is not a JSON object, or is too large to read" };

  const wanted = textOf(manifest["packageManager"]);
  const lock = locks.find(([, manager]) => wanted.startsWith(`${manager}@`)) ?? locks[0];
  const manager = lock?.[1] ?? "npm";
  const members = findMembers(tree, folder, manager, manifest);
  const manifests = [path, ...members.map((member) => joinPath(member, "package.json"))];
  if (!lock && !manifests.some((each) => asksForSomething(parseJsonObject(tree.readText(each))))) return null;
  if (!lock && folder !== "")
    return { path, reason: "the package has no lockfile and is not at the root of the repository" };

  const obstacle = findJavascriptInstallObstacle(tree, { manager, manifests, hasLock: lock !== undefined });
  if (obstacle) return obstacle;

  const lockPath = lock && joinPath(folder, lock[0]);
  const tool = renderJavascriptInstall({
    manager,
    wanted,
    lockText: lockPath === undefined ? undefined : (tree.readText(lockPath) ?? ""),
    hasYarnrc: tree.has(joinPath(folder, ".yarnrc.yml")),
    isInsidePnpmWorkspace: tree
      .foldersWith("pnpm-workspace.yaml")
      .some((other) => other !== folder && (other === "" || folder.startsWith(`${other}/`))),
    manifests: manifests.map((each) => parseJsonObject(tree.readText(each)) ?? {}),
    ...options,
  });
  const files = [
    ...manifests,
    ...(lockPath === undefined ? [] : [lockPath]),
    ...configurations[manager].map((name) => joinPath(folder, name)).filter(tree.has),
    ...patchesAndReleases(tree, folder),
  ];
  return {
    layer: createDependencyLayer({ manager, folder, files: [...new Set(files)].sort(), ...tool }),
    covers: members,
  };
}

function findMembers(
  tree: ManifestTree,
  folder: string,
  manager: JavascriptPackageManager,
  manifest: JsonObject,
): string[] {
  const isMember = createWorkspaceMatcher(
    manager === "pnpm"
      ? readYamlList(tree.readText(joinPath(folder, "pnpm-workspace.yaml")) ?? "", "packages")
      : workspacesOf(manifest),
  );
  const offset = folder === "" ? 0 : folder.length + 1;
  return tree
    .manifestsBelow(folder)
    .filter((path) => baseNameOf(path) === "package.json" && parentFolderOf(path) !== folder)
    .map(parentFolderOf)
    .filter((member) => isMember(member.slice(offset)))
    .sort(compareByDepth);
}

function workspacesOf(manifest: JsonObject): string[] {
  const { workspaces } = manifest;
  return stringItemsOf(isJsonObject(workspaces) ? workspaces["packages"] : workspaces);
}

function asksForSomething(manifest: JsonObject | null): boolean {
  return ["dependencies", "devDependencies", "optionalDependencies"].some((field) => {
    const wanted = manifest?.[field];
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
function losingLocks(
  tree: ManifestTree,
  { layers }: DependencyLayerFindings,
): DependencyLayerFindings["leftOut"] {
  return layers.flatMap(({ folder, files, manager }) =>
    lockfiles
      .map(([name]) => joinPath(folder, name))
      .filter((path) => tree.has(path) && !files.includes(path))
      .map((path) => ({ path, reason: `swarm uses the lockfile of ${manager} in the same folder instead` })),
  );
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
