import { readFileSync, statSync } from "node:fs";

const largestBytes = 8 * 1024 * 1024;

/**
 * The file names in a task file's `dependsOn`; none if the file is missing or broken. Only for display: code that acts on a
 * task file validates it.
 */
export function readDependsOn(file: string): readonly string[] {
  try {
    const stats = statSync(file, { throwIfNoEntry: false });
    if (!stats?.isFile() || stats.size > largestBytes) return [];
    const { dependsOn } = JSON.parse(readFileSync(file, "utf8")).metadata;
    return Array.isArray(dependsOn) ? dependsOn.filter((name) => typeof name === "string") : [];
  } catch {
    return [];
  }
}
