import { readFile } from "node:fs/promises";

const counters = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"];

/** How many processes of this container the kernel has ended for memory; 0 where it does not tell. */
export async function countMemoryKills(): Promise<number> {
  for (const counter of counters) {
    const text = await readFile(counter, "utf8").catch(() => "");
    const found = /^oom_kill (\d+)$/m.exec(text)?.[1];
    if (found !== undefined) return Number(found);
  }
  return 0;
}
