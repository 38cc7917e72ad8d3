import { formatCount } from "../../../text/format-count.ts";
import {
  baseNameOf,
  compareByDepth,
  isPathBelow,
  joinPath,
  parentFolderOf,
} from "../../../text/tree-path.ts";
import { compileDockerIgnore } from "../docker-ignore.ts";
import { findSecretInManifest, findSecretPathReason } from "../secret-files.ts";
import {
  type DependencyLayer,
  type DependencyLayerFindings,
  type DependencyLayerOptions,
  maxLayers,
  type PathWithoutDependencyLayer,
} from "./dependency-layer.ts";
import { createWorkspaceMatcher } from "./manifest-text.ts";

/**
 * The files of a commit in which swarm looks for dependency layers: the paths of all tracked files, and the
 * manifests that are not ignored, secret or vendored.
 */
export interface ManifestTree {
  /** Returns whether a path is one of these manifests. */
  readonly has: (path: string) => boolean;
  /** Returns whether the commit contains a file at this path. */
  readonly tracks: (path: string) => boolean;
  /** Returns the text of a manifest; undefined if there is no such manifest, or if it is too large to read. */
  readonly readText: (path: string) => string | undefined;
  /** Returns the text of a manifest; empty if swarm cannot read it. */
  readonly text: (path: string) => string;
  /** Returns the paths of the manifests with these names in a folder. */
  readonly present: (folder: string, ...names: readonly string[]) => string[];
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

const names: ReadonlySet<string> = new Set(
  `
package.json package-lock.json npm-shrinkwrap.json .npmrc
pnpm-lock.yaml pnpm-workspace.yaml .pnpmfile.cjs .pnpmfile.mjs
yarn.lock .yarnrc .yarnrc.yml bun.lock bun.lockb bunfig.toml
pyproject.toml uv.lock uv.toml poetry.lock .python-version pip.conf
Cargo.toml Cargo.lock rust-toolchain rust-toolchain.toml
go.mod go.sum go.work go.work.sum
Gemfile Gemfile.lock .ruby-version .tool-versions pom.xml
`
    .trim()
    .split(/\s+/),
);

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
  const has = (path: string): boolean => present.has(path);
  const readManifest = (path: string): string | undefined => (has(path) ? readText(path) : undefined);
  const tree: ManifestTree = {
    has,
    tracks: (path) => tracked.has(path),
    readText: readManifest,
    text: (path) => readManifest(path) ?? "",
    present: (folder, ...wanted) => wanted.map((name) => joinPath(folder, name)).filter(has),
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
  | {
      /** The layer's parts in any order; a part that is absent is empty. */
      readonly layer: Pick<DependencyLayer, "manager" | "files"> & Partial<Omit<DependencyLayer, "folder">>;
      readonly covers?: readonly string[];
    }
  | PathWithoutDependencyLayer
  | null;

/** The way in which swarm finds the dependency layers of one kind of project. */
export interface LayerDetector {
  /** The names of the manifests that make swarm examine a folder. */
  readonly manifests: readonly string[];
  readonly judge: (tree: ManifestTree, folder: string, options: DependencyLayerOptions) => FolderLayerVerdict;
  /** Completes the findings after all folders are examined. */
  readonly complete?: (found: DependencyLayerFindings, tree: ManifestTree) => DependencyLayerFindings;
}

/**
 * Finds the dependency layers of one kind of project, folders near the root first. A folder that an earlier
 * folder's layer covers gets no layer of its own.
 */
export function findDependencyLayersOfKind(
  { manifests, judge, complete = (found) => found }: LayerDetector,
  tree: ManifestTree,
  options: DependencyLayerOptions,
): DependencyLayerFindings {
  const layers: DependencyLayer[] = [];
  const leftOut: PathWithoutDependencyLayer[] = [];
  const covered = new Set<string>();
  for (const folder of tree.foldersWith(...manifests)) {
    if (covered.has(folder)) continue;
    const verdict = reasonAgainst(folder, layers.length) ?? judge(tree, folder, options);
    if (verdict === null) continue;
    if ("reason" in verdict) leftOut.push(verdict);
    else {
      const { files, emptyFiles = [], ...parts } = verdict.layer;
      const copied = { files: sortedOnce(files), emptyFiles: sortedOnce(emptyFiles) };
      layers.push({ folder, prepare: [], environment: [], install: [], ...parts, ...copied });
      for (const other of verdict.covers ?? []) covered.add(other);
    }
  }
  return complete({ layers, leftOut }, tree);
}

function reasonAgainst(folder: string, layerCount: number): PathWithoutDependencyLayer | null {
  // The folder's name goes into the Dockerfile, where other characters could have a special meaning.
  if (!/^[A-Za-z0-9._@/ -]*$/.test(folder))
    return { path: folder, reason: "the folder's name has characters that a Dockerfile cannot contain" };
  return layerCount < maxLayers
    ? null
    : { path: folder, reason: `the image already has its maximum of ${maxLayers} dependency layers` };
}

function sortedOnce(paths: readonly string[]): string[] {
  return [...new Set(paths)].sort();
}

/** Returns the folders below the given one that the patterns of its workspace include. */
export function findWorkspaceMembers(
  tree: ManifestTree,
  folder: string,
  manifest: string,
  patterns: readonly string[],
): string[] {
  const isMember = createWorkspaceMatcher(patterns);
  return tree
    .foldersWith(manifest)
    .filter((other) => other !== folder && isPathBelow(folder, other) && isMember(relativeTo(folder, other)));
}

/** Returns a path below a folder as seen from this folder. */
export function relativeTo(folder: string, path: string): string {
  return path.slice(folder === "" ? 0 : folder.length + 1);
}
