import { execFileSync } from "node:child_process";
import {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:net";
import { release } from "node:os";
import { join } from "node:path";
import type { Probe } from "../src/domain/isolation.ts";

/** What this container is, seen from inside, and whether the everyday things of an agent work in it. */
export async function probe(): Promise<Probe> {
  const status = readFileSync("/proc/self/status", "utf8");
  const field = (name: string): string | undefined =>
    new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(status)?.[1];
  const noNewPrivileges = field("NoNewPrivs");
  const seccomp = field("Seccomp");
  return {
    kernelRelease: release(),
    uidMap: parseUidMap(readFileSync("/proc/self/uid_map", "utf8")),
    capabilities: field("CapEff") ?? "",
    noNewPrivileges: noNewPrivileges === undefined ? null : noNewPrivileges === "1",
    seccomp: seccomp === undefined ? null : Number(seccomp),
    mountTypes: mountTypes(readFileSync("/proc/self/mounts", "utf8")),
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

function mountTypes(text: string): string[] {
  return [...new Set(text.split("\n").flatMap((line) => line.split(" ")[2] ?? []))];
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
