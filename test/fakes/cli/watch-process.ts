import { readFileSync } from "node:fs";

/** What a process used, without its children, as far as was seen before it ended. */
export function watchProcess(
  pid: number,
): () => { readonly memoryBytes: number; readonly cpuSeconds: number } {
  let last = { memoryBytes: 0, cpuSeconds: 0 };
  const look = (): void => {
    try {
      const [, peak = "0"] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) /, "")
        .split(" ");
      const ticks = Number(fields[11]) + Number(fields[12]);
      // The kernel says no memory of a process that has ended.
      last = { memoryBytes: Math.max(last.memoryBytes, Number(peak) * 1024), cpuSeconds: ticks / 100 };
    } catch {
      // It has ended.
    }
  };
  const timer = setInterval(look, 250);
  look();
  return () => {
    clearInterval(timer);
    return last;
  };
}
