import { formatCount } from "../../../text/format-count.ts";
import { baseNameOf, compareByDepth, isPathBelow, parentFolderOf } from "../../../text/tree-path.ts";
import { compileDockerIgnore } from "../docker-ignore.ts";
import { findSecretInManifest, findSecretPathReason } from "../secret-files.ts";
import {
  type DependencyLayer,
  type DependencyLayerFindings,
  maxLayers,
  type PathWithoutDependencyLayer,
} from "./dependency-layer.ts";

/**
 * The files of a commit in which swarm looks for dependency layers: the paths of all tracked files, and the
 * manifests that are not ignored, secret or vendored.
 */
export interface ManifestTree {
  /** Returns whether a path is one of these manifests. */
  readonly has: (path: string) => boolean;
  /** Returns whether the commit contains a file at this path. */
  readonly tracks: (path: string) => boolean;
  readonly readText: (path: string) => string | undefined;
  /** Returns the folders that contain a manifest with one of these names, folders near the root first. */
  readonly foldersWith: (...names: readonly string[]) => string[];
  readonly manifestsBelow: (folder: string) => readonly string[];
  readonly trackedBelow: (folder: string) => readonly string[];
}

export interface CommitFiles {
  readonly paths: readonly string[];
  /** Returns the text of a manifest that the caller has already read from the commit. */
  readonly readText: (path: string) => string | undefined;
}

const names: ReadonlySet<string> = new Set([
  ...["package.json", "package-lock.json", "npm-shrinkwrap.json", ".npmrc"],
  ...["pnpm-lock.yaml", "pnpm-workspace.yaml", ".pnpmfile.cjs", ".pnpmfile.mjs"],
  ...["yarn.lock", ".yarnrc", ".yarnrc.yml", "bun.lock", "bun.lockb", "bunfig.toml"],
  ...["pyproject.toml", "uv.lock", "uv.toml", "poetry.lock", ".python-version", "pip.conf"],
  ...["Cargo.toml", "Cargo.lock", "rust-toolchain", "rust-toolchain.toml"],
  ...["go.mod", "go.sum", "go.work", "go.work.sum"],
  ...["Gemfile", "Gemfile.lock", ".ruby-version", ".tool-versions", "pom.xml"],
]);

const patterns: readonly RegExp[] = [
  /(?:^|\/)patches\/[^/].*\.(?:patch|diff)$/,
  /(?:^|\/)\.yarn\/(?:releases|plugins|patches)\//,
  /(?:^|\/)(?:[^/]*requirements[^/]*|requirements\/[^/]*|constraints[^/]*)\.(?:txt|in)$/,
  /(?:^|\/)\.cargo\/config(?:\.toml)?$/,
  /(?:^|\/)\.mvn\/[^/]+\.(?:config|xml)$/,
];

const elsewhere = /(?:^|\/)(?:node_modules|__fixtures__|fixtures|testdata|third_party|vendor)\//;

/**
 * Returns those of the given paths that a package manager may need for an installation, and the path
 * `.dockerignore`. Leaves out vendored files and test fixtures.
 */
export function manifestPaths(paths: readonly string[]): string[] {
  return paths.filter((path) => path === ".dockerignore" || (isManifest(path) && !elsewhere.test(path)));
}

function isManifest(path: string): boolean {
  return names.has(baseNameOf(path)) || patterns.some((pattern) => pattern.test(path));
}

/**
 * Returns the manifests of a commit in which swarm looks for dependency layers. `leftOut` lists the
 * manifests that swarm does not use, each with the reason.
 */
export function createManifestTree({ paths, readText }: CommitFiles): {
  tree: ManifestTree;
  leftOut: PathWithoutDependencyLayer[];
} {
  const isIgnored = compileDockerIgnore(
    paths.includes(".dockerignore") ? (readText(".dockerignore") ?? "") : "",
  );
  const leftOut: PathWithoutDependencyLayer[] = [];
  const manifests: string[] = [];
  const others = paths.filter((path) => elsewhere.test(path) && isManifest(path));
  if (others[0] !== undefined) leftOut.push({ path: others[0], reason: reasonElsewhere(others.length - 1) });
  for (const path of manifestPaths(paths)) {
    if (path === ".dockerignore") continue;
    const reason = reasonToLeaveOut(path, isIgnored, readText);
    if (reason) leftOut.push({ path, reason });
    else manifests.push(path);
  }
  manifests.sort();

  const present = new Set(manifests);
  const tracked = new Set(paths);
  const tree: ManifestTree = {
    has: (path) => present.has(path),
    tracks: (path) => tracked.has(path),
    readText: (path) => (present.has(path) ? readText(path) : undefined),
    foldersWith: (...wanted) =>
      [...new Set(manifests.filter((path) => wanted.includes(baseNameOf(path))).map(parentFolderOf))].sort(
        compareByDepth,
      ),
    manifestsBelow: (folder) => manifests.filter((path) => isPathBelow(folder, path)),
    trackedBelow: (folder) => paths.filter((path) => isPathBelow(folder, path)),
  };
  return { tree, leftOut };
}

function reasonElsewhere(more: number): string {
  const same = more === 0 ? "" : `, like ${formatCount(more, "other manifest")}`;
  return `the manifest is in a folder of vendored files or test fixtures${same}`;
}

function reasonToLeaveOut(
  path: string,
  isIgnored: (path: string) => boolean,
  readText: CommitFiles["readText"],
): string | null {
  if (isIgnored(path)) return ".dockerignore excludes this file";
  const secret = findSecretPathReason(path) ?? findSecretInManifest(path, readText(path) ?? "");
  return secret && `the file may contain a secret: ${secret}`;
}

/**
 * The result of examining one folder for a dependency layer:
 * - a layer, with the other folders that this layer covers
 * - the path of a file or folder that gets no layer, with the reason
 * - null if the folder needs no layer
 */
export type FolderLayerVerdict =
  | { readonly layer: DependencyLayer; readonly covers?: readonly string[] }
  | PathWithoutDependencyLayer
  | null;

/**
 * Finds the dependency layers of the given folders, of which those near the root must come first. A folder
 * that an earlier folder's layer covers gets no layer of its own.
 */
export function findDependencyLayersByFolder(
  folders: readonly string[],
  judge: (folder: string) => FolderLayerVerdict,
): DependencyLayerFindings {
  const layers: DependencyLayer[] = [];
  const leftOut: PathWithoutDependencyLayer[] = [];
  const covered = new Set<string>();
  for (const folder of folders) {
    if (covered.has(folder)) continue;
    // The folder's name goes into the Dockerfile, where other characters could have a special meaning.
    if (!/^[A-Za-z0-9._@/ -]*$/.test(folder)) {
      leftOut.push({
        path: folder,
        reason: "the folder's name has characters that a Dockerfile cannot contain",
      });
      continue;
    }
    if (layers.length === maxLayers) {
      leftOut.push({
        path: folder,
        reason: `the image already has its maximum of ${maxLayers} dependency layers`,
      });
      continue;
    }
    const verdict = judge(folder);
    if (verdict === null) continue;
    if ("reason" in verdict) leftOut.push(verdict);
    else {
      layers.push(verdict.layer);
      verdict.covers?.forEach((other) => {
        covered.add(other);
      });
    }
  }
  return { layers, leftOut };
}
