import { statfs } from "node:fs/promises";
import { showBytes } from "../src/domain/duration.ts";
import { nextLookMs } from "../src/domain/next-look.ts";
import { runAsAgent } from "./agent-user.ts";
import type { Places } from "./places.ts";

interface DiskUse {
  readonly homeBytes: number;
  readonly totalBytes: number;
}

const kibi = 1024;

/** What the agent's user wrote, measured by that user: root may not look there. Null when it could not be measured. */
async function measureDisk(
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
async function lookQuickly({ workspace, home }: Places): Promise<QuickLook> {
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

/** How often a caller looks. */
export const diskLookMs = 1_000;
/** With less than this the adapter cannot export what the agent made. */
const leastFreeBytes = 16 << 20;

export interface DiskWatch {
  readonly places: Places;
  readonly env: Readonly<Record<string, string>>;
  readonly limits: { readonly homeBytes: number; readonly diskBytes: number | null };
  readonly signal: AbortSignal;
  /** Told what the agent wrote in all, each time that it is measured. */
  readonly measured: (totalBytes: number) => void;
  /** Told of a limit that is exceeded. */
  readonly tooFull: (message: string) => void;
}

/** Gives a look at the disk: at its file systems each time, and at what the agent wrote when that could be near a limit. */
export function watchDisk({
  places,
  env,
  limits,
  signal,
  measured,
  tooFull,
}: DiskWatch): () => Promise<void> {
  const diskBytes = limits.diskBytes ?? Number.POSITIVE_INFINITY;
  let last: Measured | null = null;
  let isMeasuring = false;

  return async () => {
    const { bavail, bsize } = await statfs(places.aimi);
    if (bavail * bsize < leastFreeBytes) return tooFull(`only ${showBytes(bavail * bsize)} are free`);
    const look = await lookQuickly(places);
    if (isMeasuring || !isMeasurementDue(last, look)) return;
    isMeasuring = true;
    // What cannot be measured now is measured the next time.
    const use = await measureDisk(places, env, signal).catch(() => null);
    isMeasuring = false;
    const tookMs = performance.now() - look.atMs;
    last = { ...look, leftBytes: Number.POSITIVE_INFINITY, tookMs };
    if (!use) return;
    const { homeBytes, totalBytes } = use;
    last = { ...look, leftBytes: Math.min(limits.homeBytes - homeBytes, diskBytes - totalBytes), tookMs };
    measured(totalBytes);
    if (homeBytes > limits.homeBytes)
      tooFull(`${places.home} holds ${showBytes(homeBytes)}, more than ${showBytes(limits.homeBytes)}`);
    else if (totalBytes > diskBytes)
      tooFull(`the sandbox holds ${showBytes(totalBytes)}, more than ${showBytes(diskBytes)}`);
  };
}
