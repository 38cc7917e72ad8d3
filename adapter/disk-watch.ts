import { statfs } from "node:fs/promises";
import { showBytes } from "../src/domain/duration.ts";
import { nextPollMs } from "../src/domain/next-look.ts";
import { runAsAgent } from "./agent-user.ts";
import type { SandboxPaths } from "./places.ts";

interface DiskUse {
  readonly homeBytes: number;
  readonly totalBytes: number;
}

const kibi = 1024;

/** Measures the disk use of the agent's user, as that user: root may not read there. Null when the measurement failed. */
async function measureDisk(
  { workspace, home }: SandboxPaths,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<DiskUse | null> {
  const command = ["du", "-skx", home, workspace, "/tmp", "/var/tmp"];
  const { stdout } = await runAsAgent({ command, env, folder: "/", keep: 10_000 }, signal);
  // The exit code does not count: `du` also fails when a file vanishes while it runs.
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

export interface UsedBytes {
  readonly atMs: number;
  /** The used bytes of whole file systems; the agent's files are a part of them. */
  readonly usedBytes: number;
}

/**
 * Reads the use of the file systems that the agent writes to. A file system that holds both folders counts twice, which only
 * makes the next measurement earlier.
 */
async function readUsedBytes({ workspace, home }: SandboxPaths): Promise<UsedBytes> {
  const systems = await Promise.all([statfs(workspace), statfs(home)]);
  const used = systems.map(({ blocks, bfree, bsize }) => (blocks - bfree) * bsize);
  return { atMs: performance.now(), usedBytes: used.reduce((sum, bytes) => sum + bytes, 0) };
}

/** A measurement of the agent's files, and the use of the file systems just before it. */
export interface Measured extends UsedBytes {
  readonly tookMs: number;
  /** The bytes that are left up to the nearest limit. */
  readonly leftBytes: number;
}

const maxMs = 20_000;
/** The least interval between measurements, in multiples of their duration: constant measuring would load the disk itself. */
const intervalPerDuration = 4;

/** Whether the next measurement is due: a measurement reads every folder, while a look at the file systems is cheap. */
export function isMeasurementDue(last: Measured | null, { atMs, usedBytes }: UsedBytes): boolean {
  if (!last) return true;
  const growth = {
    grownBytes: usedBytes - last.usedBytes,
    inMs: atMs - last.atMs,
    leftBytes: last.leftBytes,
  };
  const leastMs = intervalPerDuration * last.tookMs;
  return growth.inMs >= nextPollMs(growth, { minMs: leastMs, maxMs: Math.max(maxMs, leastMs) });
}

/** The interval at which the caller checks the disk. */
export const diskCheckMs = 1_000;
/** The least free space with which the adapter can still export the agent's work. */
const minFreeBytes = 16 << 20;

export interface DiskWatch {
  readonly paths: SandboxPaths;
  readonly env: Readonly<Record<string, string>>;
  readonly limits: { readonly homeBytes: number; readonly diskBytes: number | null };
  readonly signal: AbortSignal;
  /** Called with the agent's total disk use after each measurement. */
  readonly onMeasured: (totalBytes: number) => void;
  /** Called when the disk is nearly full or a limit is exceeded. */
  readonly onTooFull: (message: string) => void;
}

/**
 * Returns a function that checks the disk: each call reads the use of the file systems, and measures the agent's files when
 * these could be near a limit.
 */
export function watchDisk({
  paths,
  env,
  limits,
  signal,
  onMeasured,
  onTooFull,
}: DiskWatch): () => Promise<void> {
  const diskBytes = limits.diskBytes ?? Number.POSITIVE_INFINITY;
  let last: Measured | null = null;
  let isMeasuring = false;

  return async () => {
    const { bavail, bsize } = await statfs(paths.aimi);
    if (bavail * bsize < minFreeBytes) return onTooFull(`only ${showBytes(bavail * bsize)} are free`);
    const look = await readUsedBytes(paths);
    if (isMeasuring || !isMeasurementDue(last, look)) return;
    isMeasuring = true;
    // A failed measurement is repeated later.
    const use = await measureDisk(paths, env, signal).catch(() => null);
    isMeasuring = false;
    const tookMs = performance.now() - look.atMs;
    last = { ...look, leftBytes: Number.POSITIVE_INFINITY, tookMs };
    if (!use) return;
    const { homeBytes, totalBytes } = use;
    last = { ...look, leftBytes: Math.min(limits.homeBytes - homeBytes, diskBytes - totalBytes), tookMs };
    onMeasured(totalBytes);
    if (homeBytes > limits.homeBytes)
      onTooFull(`${paths.home} holds ${showBytes(homeBytes)}, more than ${showBytes(limits.homeBytes)}`);
    else if (totalBytes > diskBytes)
      onTooFull(`the sandbox holds ${showBytes(totalBytes)}, more than ${showBytes(diskBytes)}`);
  };
}
