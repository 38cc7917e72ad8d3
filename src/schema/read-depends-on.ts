import { readFileSync, statSync } from "node:fs";

const largestBytes = 8 * 1024 * 1024;

/**
 * The file names of the tasks that a task file says it starts from; none where it is gone or broken. Only for showing: whoever acts
 * on a task file reads it with care.
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
