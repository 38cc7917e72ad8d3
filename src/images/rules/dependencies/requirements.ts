import { parentFolderOf, resolvePath } from "../../../text/tree-path.ts";
import type { PathWithoutDependencyLayer } from "./dependency-layer.ts";
import type { ManifestTree } from "./manifest-tree.ts";

/**
 * Returns the paths of the given requirements files and of all files that they include through `-r` or `-c`.
 * If a file is too large, or a line needs a file that the image does not contain, returns that problem
 * instead.
 */
export function findRequirementsFiles(
  tree: ManifestTree,
  starts: readonly string[],
): { readonly files: readonly string[] } | PathWithoutDependencyLayer {
  const files = new Set(starts);
  for (const path of files) {
    const text = tree.readText(path);
    if (text === undefined) return { path, reason: "the file is too large to read" };
    for (const [index, line] of joinedLines(text).entries()) {
      const leftOut = (problem: string): PathWithoutDependencyLayer => ({
        path,
        reason: `line ${index + 1} ${problem}`,
      });
      if (isLocal(line)) return leftOut("needs a folder or an archive that the image does not contain yet");
      const [, named] = /^(?:-r|-c|--requirement|--constraint)[\s=]*(\S+)$/.exec(line) ?? [];
      if (named === undefined || named.includes("://")) continue;
      const other = resolvePath(parentFolderOf(path), named);
      if (other === null || !tree.has(other))
        return leftOut("names a file that swarm does not copy into the image");
      files.add(other);
    }
  }
  return { files: [...files] };
}

/**
 * Returns the lines of a requirements file without comments. A line that continues with `\` is joined with
 * its continuation; the joined lines become empty, so that line numbers stay correct.
 */
function joinedLines(text: string): string[] {
  const lines: string[] = [];
  let continued: number | null = null;
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.replace(/(?:^|\s)#.*/, "").trim();
    const isContinued = line.endsWith("\\");
    const part = isContinued ? line.slice(0, -1).trim() : line;
    lines.push(continued === null ? part : "");
    if (continued !== null) lines[continued] = `${lines[continued]} ${part}`.trim();
    continued = isContinued ? (continued ?? index) : null;
  }
  return lines;
}

function isLocal(line: string): boolean {
  const [, option, value = ""] = /^(-e|--editable|-f|--find-links)[\s=]*(.*)$/.exec(line) ?? [];
  if (option !== undefined) return !/^[a-z+]+:\/\//.test(value) || value.startsWith("file:");
  if (line.startsWith("-")) return false;
  if (/^(?:\.|\/|~|file:)/.test(line) || /@\s*(?:file:|\.|\/)/.test(line)) return true;
  const [first = ""] = line.split(/[\s;]/);
  return !first.includes("://") && /\.(?:whl|zip|tar\.gz|tgz)$/.test(first);
}
