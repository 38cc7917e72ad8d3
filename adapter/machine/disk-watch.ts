import { statfs } from "node:fs/promises";
import { nextSizeCheckDelayMs } from "../../src/machine/rules/next-size-check.ts";
import { formatBytes } from "../../src/text/duration-and-size.ts";
import { runProgramAsAgentUser } from "./agent-user.ts";
import { runPeriodically } from "./run-periodically.ts";
import type { SandboxPaths } from "./sandbox-paths.ts";

const kibi = 1024;

/**
 * Measures the disk use of the agent's files; returns null if the measurement fails. Runs `du` as the agent's
 * Linux user, because root may lack access to the folders.
 */
async function measureDisk(
  { workspace, home }: SandboxPaths,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<{ readonly homeBytes: number; readonly totalBytes: number } | null> {
  const command = ["du", "-skx", home, workspace, "/tmp", "/var/tmp"];
  const { stdout } = await runProgramAsAgentUser(
    { command, env, folder: "/", maxOutputLength: 10_000 },
    signal,
  );
  // Ignores the exit code: `du` also fails if a file vanishes during the measurement.
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

export interface UsedBytesSample {
  readonly atMs: number;
  /**
   * The number of used bytes on all file systems that the agent writes to. Includes files that are not the
   * agent's.
   */
  readonly usedBytes: number;
}

/**
 * Reads the number of used bytes on the file systems of the workspace and of the home folder. Counts a file
 * system twice if it holds both folders; the next measurement then starts earlier than necessary.
 */
async function readUsedBytes({ workspace, home }: SandboxPaths): Promise<UsedBytesSample> {
  const systems = await Promise.all([statfs(workspace), statfs(home)]);
  const used = systems.map(({ blocks, bfree, bsize }) => (blocks - bfree) * bsize);
  return { atMs: performance.now(), usedBytes: used.reduce((sum, bytes) => sum + bytes, 0) };
}

/** The result of a measurement of the agent's files. `usedBytes` was read just before the measurement. */
export interface DiskMeasurement extends UsedBytesSample {
  readonly tookMs: number;
  /** The number of bytes that the agent's files can still grow before they reach a limit. */
  readonly bytesUntilLimit: number;
}

const maxMs = 20_000;
/**
 * The minimum interval between two measurements, as a multiple of the last measurement's duration. The
 * interval keeps measurements from loading the disk all the time.
 */
const intervalPerDuration = 4;

/**
 * Whether the adapter must measure the agent's files now. Each measurement reads every folder and is slow, so
 * this function estimates the files' growth from the file systems' used bytes.
 */
export function isDiskMeasurementDue(
  last: DiskMeasurement | null,
  { atMs, usedBytes }: UsedBytesSample,
): boolean {
  if (!last) return true;
  const growth = {
    grownBytes: usedBytes - last.usedBytes,
    inMs: atMs - last.atMs,
    remainingBytes: last.bytesUntilLimit,
  };
  const leastMs = intervalPerDuration * last.tookMs;
  return growth.inMs >= nextSizeCheckDelayMs(growth, { minMs: leastMs, maxMs: Math.max(maxMs, leastMs) });
}

const checkIntervalMs = 1_000;
/** The free disk space, in bytes, that the adapter needs to store the agent's work in a git bundle. */
const minFreeBytes = 16 << 20;

export interface DiskWatchOptions {
  readonly paths: SandboxPaths;
  readonly env: Readonly<Record<string, string>>;
  readonly limits: { readonly homeBytes: number; readonly diskBytes: number | null };
  readonly signal: AbortSignal;
  /** Called after each measurement with the total size of the agent's files. */
  readonly onMeasured: (totalBytes: number) => void;
  /** Called if the disk is nearly full, or if the agent's files exceed a limit. */
  readonly onTooFull: (message: string) => void;
}

/**
 * Checks the disk use every second. Reads the file systems' used bytes in each check, but measures the
 * agent's files only if they could be near a limit. Returns a function that stops the checks.
 */
export function watchDisk({
  paths,
  env,
  limits,
  signal,
  onMeasured,
  onTooFull,
}: DiskWatchOptions): () => void {
  const diskBytes = limits.diskBytes ?? Number.POSITIVE_INFINITY;
  let last: DiskMeasurement | null = null;
  let isMeasuring = false;

  const check = async (): Promise<void> => {
    const { bavail, bsize } = await statfs(paths.aimi);
    if (bavail * bsize < minFreeBytes)
      return onTooFull(`only ${formatBytes(bavail * bsize)} of disk space is free in the sandbox's volume`);
    const look = await readUsedBytes(paths);
    if (isMeasuring || !isDiskMeasurementDue(last, look)) return;
    isMeasuring = true;
    // Ignores a failed measurement: a later call measures again.
    const use = await measureDisk(paths, env, signal).catch(() => null);
    isMeasuring = false;
    last = {
      ...look,
      bytesUntilLimit: use
        ? Math.min(limits.homeBytes - use.homeBytes, diskBytes - use.totalBytes)
        : Number.POSITIVE_INFINITY,
      tookMs: performance.now() - look.atMs,
    };
    if (!use) return;
    const { homeBytes, totalBytes } = use;
    onMeasured(totalBytes);
    if (homeBytes > limits.homeBytes)
      onTooFull(
        `${paths.home} holds ${formatBytes(homeBytes)}, more than its limit of ${formatBytes(limits.homeBytes)}`,
      );
    else if (totalBytes > diskBytes)
      onTooFull(
        `the sandbox holds ${formatBytes(totalBytes)} on disk, more than its limit of ${formatBytes(diskBytes)}`,
      );
  };
  // Not awaited: the checks of the free space must go on during a measurement, which may take long.
  return runPeriodically(checkIntervalMs, async () => void check().catch(() => {}));
}
