import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:net";
import { networkInterfaces, release } from "node:os";
import { join } from "node:path";
import type { Probe } from "../src/engine/rules/isolation.ts";

/**
 * Inspects this container from inside: how it is isolated, and whether operations that agents need work in
 * it.
 */
export async function probeSandbox(): Promise<Probe> {
  const status = readFileSync("/proc/self/status", "utf8");
  const field = (name: string): string | undefined =>
    new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(status)?.[1];
  const noNewPrivileges = field("NoNewPrivs");
  const seccomp = field("Seccomp");
  const mounts = parseMounts(readFileSync("/proc/self/mounts", "utf8"));
  return {
    kernelRelease: release(),
    uidMap: parseUidMap(readFileSync("/proc/self/uid_map", "utf8")),
    capabilities: field("CapEff") ?? "",
    noNewPrivileges: noNewPrivileges === undefined ? null : noNewPrivileges === "1",
    seccomp: seccomp === undefined ? null : Number(seccomp),
    mountTypes: [...new Set(mounts.map(({ type }) => type))],
    userId: process.getuid?.() ?? 0,
    sharedNamespaces: sharedNamespaces(),
    devices: readdirSync("/dev").filter((name) => !everydayDevices.includes(name)),
    hostMounts: mounts.filter(isOfTheHost).map(({ path }) => path),
    openPaths: openPaths(mounts),
    steps: await trySteps(mkdtempSync("/tmp/probe-")),
  };
}

function parseUidMap(text: string): Probe["uidMap"] {
  return text
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([inside = 0, outside = 0, count = 0]) => ({ inside, outside, count }));
}

interface Mount {
  readonly path: string;
  readonly type: string;
  readonly readOnly: boolean;
}

function parseMounts(text: string): Mount[] {
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split(" "))
    .map(([, path = "", type = "", options = ""]) => ({
      path,
      type,
      readOnly: options.split(",").includes("ro"),
    }));
}

/**
 * The inode numbers that the Linux kernel always gives its initial namespaces, which belong to the host. A
 * container with one of these numbers shares that namespace with the host.
 */
const firstNamespaces: readonly (readonly [name: string, inode: number])[] = [
  ["ipc", 0xefffffff],
  ["uts", 0xeffffffe],
  ["pid", 0xeffffffc],
  ["net", 0xeffffff9],
];

function sharedNamespaces(): string[] {
  const shared = firstNamespaces.flatMap(([name, inode]) => {
    try {
      return readlinkSync(`/proc/self/ns/${name}`) === `${name}:[${inode}]` ? [name] : [];
    } catch {
      // Skips a missing namespace: a runtime with its own kernel may lack it.
      return [];
    }
  });
  // Finds a shared network namespace by its interfaces, because only the newest kernels fix its inode number. The probe
  // runs without a network, so any interface except loopback belongs to the host.
  const hasNetwork = Object.values(networkInterfaces()).some((found) =>
    found?.some(({ internal }) => !internal),
  );
  // An engine may itself run in a pid namespace. A container that shares this namespace shows another inode number, but
  // neither the probe nor the engine's init above it is process 1.
  const isProcessOne = process.pid === 1 || process.ppid === 1;
  return [...new Set([...shared, ...(isProcessOne ? [] : ["pid"]), ...(hasNetwork ? ["net"] : [])])];
}

const everydayDevices: readonly string[] = [
  "console",
  "core",
  "fd",
  "full",
  "initctl",
  "mqueue",
  "null",
  "ptmx",
  "pts",
  "random",
  "shm",
  "stderr",
  "stdin",
  "stdout",
  "tty",
  "urandom",
  "zero",
];

/**
 * The paths where a container engine mounts `proc`, `tmpfs` and similar file systems. At any other path, such
 * a file system comes from the host, and may contain the host's sockets and devices.
 */
const kernelMountPaths = /^\/(?:proc|sys|dev)(?:\/|$)|^\/tmp$/;
const kernelTypes: readonly string[] = [
  "proc",
  "sysfs",
  "tmpfs",
  "devpts",
  "mqueue",
  "cgroup",
  "cgroup2",
  "devtmpfs",
];

/** The mount points that a container engine creates in every container, with any type of file system. */
const everydayMounts: readonly string[] = [
  "/",
  "/etc/hostname",
  "/etc/hosts",
  "/etc/resolv.conf",
  "/sbin/docker-init",
  "/usr/sbin/docker-init",
  "/run/.containerenv",
  "/run/secrets",
];

function isOfTheHost({ path, type }: Mount): boolean {
  const isOfTheKernel = kernelTypes.includes(type) && kernelMountPaths.test(path);
  return !isOfTheKernel && !everydayMounts.includes(path);
}

/**
 * Finds the paths in `/proc` that a container engine should hide or mount read-only, but that are open in
 * this container.
 */
function openPaths(mounts: readonly Mount[]): string[] {
  // An engine hides a path behind a tmpfs or a device; if user IDs are mapped, behind a device of the host.
  const covered = (path: string): boolean =>
    mounts.some((mount) => mount.path === path && (mount.readOnly || mount.type !== "proc"));
  return ["/proc/sys", "/proc/sysrq-trigger", "/proc/timer_list", "/proc/keys", "/proc/kcore"].filter(
    (path) => existsSync(path) && !covered(path),
  );
}

type Step = readonly [step: string, run: () => unknown];

async function trySteps(folder: string): Promise<Probe["steps"]> {
  const file = join(folder, "file");
  const steps: Step[] = [
    ["write and fsync", () => writeAndSync(file)],
    ["stat", () => statSync(file)],
    ["list a folder", () => readdirSync(folder)],
    ["symlink", () => symlinkSync("file", join(folder, "link"))],
    ["rename", () => renameSync(join(folder, "link"), join(folder, "renamed"))],
    ["start a program", () => execFileSync(process.execPath, ["--version"])],
    ["bind a Unix socket", () => listenOnce(join(folder, "socket"))],
    ...toolSteps(folder),
  ];
  const results: { step: string; error: string | null }[] = [];
  for (const [step, run] of steps) {
    try {
      await run();
      results.push({ step, error: null });
    } catch (error) {
      results.push({ step, error: String((error as Error).message).slice(0, 500) });
    }
  }
  rmSync(folder, { recursive: true, force: true });
  return results;
}

/**
 * Returns test steps that try the tools on which agents depend. Includes a tool only if the image contains
 * it.
 */
function toolSteps(folder: string): Step[] {
  const repository = join(folder, "repository");
  const identity = ["-c", "user.name=probe", "-c", "user.email=probe@example.invalid"];
  const commit = ["commit", "--quiet", "--allow-empty", "--message", "probe"];
  const steps: [step: string, program: string, ...args: string[]][] = [
    ["ls -la", "ls", "-la", folder],
    ["stat of coreutils", "stat", folder],
    ["git init", "git", "init", "--quiet", repository],
    ["git commit", "git", ...identity, "-C", repository, ...commit],
  ];
  return steps
    .filter(([, program]) => existsSync(`/usr/bin/${program}`) || existsSync(`/bin/${program}`))
    .map(([step, program, ...args]) => [
      step,
      () => execFileSync(program, args, { stdio: ["ignore", "ignore", "pipe"] }),
    ]);
}

function writeAndSync(file: string): void {
  const descriptor = openSync(file, "w");
  writeSync(descriptor, "probe");
  fsyncSync(descriptor);
  closeSync(descriptor);
}

function listenOnce(path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const server = createServer();
  server.once("error", reject);
  server.listen(path, () => server.close(() => resolve()));
  return promise;
}
