import { statfs } from "node:fs/promises";
import { nextLookMs } from "../src/domain/next-look.ts";
import { runAsAgent } from "./agent-user.ts";
import type { Places } from "./places.ts";

export interface DiskUse {
  readonly homeBytes: number;
  readonly totalBytes: number;
}

const kibi = 1024;

/** What the agent's user wrote, measured by that user: root may not look there. Null when it could not be measured. */
export async function measureDisk(
  { workspace, home }: Places,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<DiskUse | null> {
  const command = ["du", "-skx", home, workspace, "/tmp", "/var/tmp"];
  const { stdout } = await runAsAgent({ command, env, folder: "/", keep: 10_000 }, signal);
  // A file that goes away meanwhile makes du complain, and changes nothing.
  const bytesByPath = new Map(
    stdout.split("\n").flatMap((line) => {
      const [, size, path] = /^(\d+)\s+(.+)$/.exec(line) ?? [];
      return size && path ? [[path, Number(size) * kibi] as const] : [];
    }),
  );
  const homeBytes = bytesByPath.get(home);
  if (homeBytes === undefined) return null;
  return { homeBytes, totalBytes: [...bytesByPath.values()].reduce((sum, bytes) => sum + bytes, 0) };
}

export interface QuickLook {
  readonly atMs: number;
  /** Of whole file systems: what the agent writes is a part of their growth. */
  readonly usedBytes: number;
}

/** What is used where the agent writes. Where both lie on one file system it counts twice, and is only looked at sooner. */
export async function lookQuickly({ workspace, home }: Places): Promise<QuickLook> {
  const systems = await Promise.all([statfs(workspace), statfs(home)]);
  const used = systems.map(({ blocks, bfree, bsize }) => (blocks - bfree) * bsize);
  return { atMs: performance.now(), usedBytes: used.reduce((sum, bytes) => sum + bytes, 0) };
}

/** A measurement, and the quick look that was taken before it. */
export interface Measured extends QuickLook {
  readonly tookMs: number;
  /** Up to the nearest limit. */
  readonly leftBytes: number;
}

const mostMs = 20_000;
/** Measuring takes a part of the time at most, or it would be the load that it looks for. */
const restsPerMeasurement = 4;

/** Whether it is time for the next measurement, which reads every folder; a quick look costs nothing. */
export function isMeasurementDue(last: Measured | null, { atMs, usedBytes }: QuickLook): boolean {
  if (!last) return true;
  const growth = {
    grownBytes: usedBytes - last.usedBytes,
    inMs: atMs - last.atMs,
    leftBytes: last.leftBytes,
  };
  const leastMs = restsPerMeasurement * last.tookMs;
  return growth.inMs >= nextLookMs(growth, { leastMs, mostMs: Math.max(mostMs, leastMs) });
}
