/** A path without `.`, inner `..` and extra slashes; "" is the tree itself, and a path that leaves the tree starts with `..`. */
export function cleanPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else parts.push(part);
  }
  return parts.join("/");
}

/** The target of a relative path in a file of `folder`, or null if it leaves the tree. */
export function resolvePath(folder: string, relative: string): string | null {
  if (/^(?:[/~\\]|[A-Za-z]:)/.test(relative)) return null;
  const path = cleanPath(`${folder}/${relative}`);
  return path === ".." || path.startsWith("../") ? null : path;
}

export function joinPath(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Whether a path lies below a folder; everything lies below "". */
export function isBelow(folder: string, path: string): boolean {
  return folder === "" || path.startsWith(`${folder}/`);
}

/** Orders shallow paths before deep ones, then by name, in the same way on every machine. */
export function byDepth(one: string, other: string): number {
  return depthOf(one) - depthOf(other) || (one < other ? -1 : one > other ? 1 : 0);
}

function depthOf(folder: string): number {
  return folder === "" ? 0 : folder.split("/").length;
}
