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
import type { Probe } from "../src/domain/isolation.ts";

/** What this container is, seen from inside, and whether the everyday things of an agent work in it. */
export async function probe(): Promise<Probe> {
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

/** The kernel gives its first namespaces fixed numbers; whoever has one of these shares it with the host. */
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
      // A kernel of its own need not have them.
      return [];
    }
  });
  // Only the newest kernels fix the number of the network's. A container without a network has nothing but loopback.
  const hasNetwork = Object.values(networkInterfaces()).some((found) =>
    found?.some(({ internal }) => !internal),
  );
  return hasNetwork && !shared.includes("net") ? [...shared, "net"] : shared;
}

const everydayDevices: readonly string[] = [
  ...["console", "core", "fd", "full", "initctl", "mqueue", "null", "ptmx", "pts", "random", "shm"],
  ...["stderr", "stdin", "stdout", "tty", "urandom", "zero"],
];

/** Where an engine mounts the kernel's own filesystems; anywhere else they are the host's, with its sockets and devices. */
const kernelPlaces = /^\/(?:proc|sys|dev)(?:\/|$)|^\/tmp$/;
const kernelTypes: readonly string[] = [
  ...["proc", "sysfs", "tmpfs", "devpts", "mqueue", "cgroup", "cgroup2", "devtmpfs"],
];

/** What an engine gives every container, of whatever type the folder is in which it keeps it. */
const everydayMounts: readonly string[] = [
  ...["/", "/etc/hostname", "/etc/hosts", "/etc/resolv.conf"],
  ...["/sbin/docker-init", "/usr/sbin/docker-init", "/run/.containerenv", "/run/secrets"],
];

function isOfTheHost({ path, type }: Mount): boolean {
  const isOfTheKernel = kernelTypes.includes(type) && kernelPlaces.test(path);
  return !isOfTheKernel && !everydayMounts.includes(path);
}

/** What an engine hides or makes read-only in `/proc`, as far as this kernel has it. */
function openPaths(mounts: readonly Mount[]): string[] {
  // What hides is a tmpfs or a device: with mapped users one of the host's own.
  const covered = (path: string): boolean =>
    mounts.some((mount) => mount.path === path && (mount.readOnly || mount.type !== "proc"));
  return ["/proc/sys", "/proc/sysrq-trigger", "/proc/timer_list", "/proc/keys", "/proc/kcore"].filter(
    (path) => existsSync(path) && !covered(path),
  );
}

async function trySteps(folder: string): Promise<Probe["steps"]> {
  const file = join(folder, "file");
  const steps: [step: string, run: () => unknown][] = [
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

/** The tools that agents live by, where the image has them. */
function toolSteps(folder: string): [step: string, run: () => unknown][] {
  const identity = ["-c", "user.name=probe", "-c", "user.email=probe@example.invalid"];
  const steps: [step: string, program: string, args: string[]][] = [
    ["ls -la", "ls", ["-la", folder]],
    ["stat of coreutils", "stat", [folder]],
    ["git init", "git", ["init", "--quiet", join(folder, "repository")]],
    [
      "git commit",
      "git",
      [
        ...identity,
        "-C",
        join(folder, "repository"),
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "probe",
      ],
    ],
  ];
  return steps
    .filter(([, program]) => existsSync(`/usr/bin/${program}`) || existsSync(`/bin/${program}`))
    .map(([step, program, args]) => [
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
