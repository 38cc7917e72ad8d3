import { compilePathPattern } from "../../text/path-pattern.ts";
import { normalizePath } from "../../text/tree-path.ts";

/**
 * Returns a function that tells whether the given text of a `.dockerignore` excludes a path. As in Docker,
 * the last line that matches the path or one of its parent folders decides.
 */
export function compileDockerIgnore(text: string): (path: string) => boolean {
  const rules = text
    .replace(/^\uFEFF/, "")
    .split("\n")
    .flatMap(readRule);

  return (path) => {
    const candidates = withFoldersAbove(path);
    return rules.findLast(({ matches }) => candidates.some(matches))?.ignores ?? false;
  };
}

interface Rule {
  readonly ignores: boolean;
  readonly matches: (path: string) => boolean;
}

function readRule(line: string): Rule[] {
  if (line.startsWith("#")) return [];
  const text = line.trim();
  const ignores = !text.startsWith("!");
  const pattern = normalizePath(ignores ? text : text.slice(1).trim());
  // The pattern is empty for `.`, which Docker ignores, and for a `!` alone, which Docker refuses.
  return pattern === "" ? [] : [{ ignores, matches: compilePathPattern(pattern) }];
}

function withFoldersAbove(path: string): string[] {
  const parts = path.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}
