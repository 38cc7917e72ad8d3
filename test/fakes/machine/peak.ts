import { readFileSync } from "node:fs";

/** The most memory that this process ever held, in MB. */
export function peakMb(): number {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  return Number(kib) / 1024;
}
