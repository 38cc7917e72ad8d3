/**
 * Normalises a path in the repository: removes `.`, inner `..` and extra slashes. An empty result means the
 * repository's root folder; a result that starts with `..` lies outside of the repository.
 */
export function normalizePath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else parts.push(part);
  }
  return parts.join("/");
}

/**
 * Resolves a relative path that a file in `folder` contains. Returns null if the path is not relative or
 * leads out of the repository.
 */
export function resolvePath(folder: string, relative: string): string | null {
  if (/^(?:[/~\\]|[A-Za-z]:)/.test(relative)) return null;
  const path = normalizePath(`${folder}/${relative}`);
  return path === ".." || path.startsWith("../") ? null : path;
}

export function joinPath(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

export function parentFolderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Returns the folders that contain a path, from the outermost to its parent folder. */
export function foldersAbove(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_part, index) => parts.slice(0, index + 1).join("/"));
}

export function baseNameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/**
 * Whether a path lies below a folder. The empty string means the root folder, below which every path lies.
 */
export function isPathBelow(folder: string, path: string): boolean {
  return folder === "" || path.startsWith(`${folder}/`);
}

/**
 * Compares two paths for sorting: paths with fewer folders first, then by name. The order does not depend on
 * the machine's locale.
 */
export function compareByDepth(one: string, other: string): number {
  return depthOf(one) - depthOf(other) || (one < other ? -1 : one > other ? 1 : 0);
}

function depthOf(folder: string): number {
  return folder === "" ? 0 : folder.split("/").length;
}
