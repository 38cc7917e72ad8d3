import { readFileSync, statSync } from "node:fs";

const largestBytes = 8 * 1024 * 1024;

/**
 * Returns the names of the task files that a task file lists in `dependsOn`; an empty array if the task file
 * is missing or invalid. Use it only for display: code that runs the task validates the task file.
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
