import { readFileSync, statSync } from "node:fs";

const largestBytes = 8 * 1024 * 1024;

/**
 * Returns the file names in a task file's `dependsOn`; an empty array if the file is missing or invalid. For
 * display only: code that runs a task file validates the file.
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
