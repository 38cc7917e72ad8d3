import { readFile } from "node:fs/promises";

const counters = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"];

/**
 * Returns how many processes of this container the kernel's OOM killer has killed; 0 if the kernel does not
 * report it.
 */
export async function countOomKills(): Promise<number> {
  for (const counter of counters) {
    const text = await readFile(counter, "utf8").catch(() => "");
    const found = /^oom_kill (\d+)$/m.exec(text)?.[1];
    if (found !== undefined) return Number(found);
  }
  return 0;
}
