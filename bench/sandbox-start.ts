import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { baseImage } from "../src/domain/base-image.ts";
import { findProgram } from "../src/host/engine-packages.ts";
import type { Containers } from "../src/ports/containers.ts";
import type { ContainerEngine } from "../src/ports/engine.ts";
import { sandboxAt } from "../src/sandbox/sandbox.ts";
import {
  defaultCommandTimeoutMs,
  defaultLimits,
  defaultOutputLimit,
} from "../src/sandbox/sandbox-defaults.ts";
import type { Comparison } from "./compare.ts";

/** Sandboxes against the same containers made by Docker's own command; none where that is not installed. */
export async function sandboxStart(
  engine: ContainerEngine | null,
): Promise<AsyncDisposable & { readonly comparisons: readonly Comparison[] }> {
  if (engine === null || (await findProgram("docker", process.env)) === null)
    return { comparisons: [], [Symbol.asyncDispose]: async () => {} };
  const { containers } = await engine.open();
  const docker = (...words: string[]): string =>
    execFileSync("docker", ["--host", engine.endpoint, ...words], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  const flags = [
    ...[
      "--init",
      "--network",
      "none",
      "--user",
      "1000:1000",
      "--cap-drop",
      "ALL",
      "--security-opt",
      "no-new-privileges",
    ],
    ...[
      "--pids-limit",
      "512",
      "--memory",
      "256m",
      "--cpus",
      "1",
      "--tmpfs",
      "/tmp:exec,nosuid,nodev,size=64m",
    ],
  ];
  const standing = await makeContainer(containers);
  const sandbox = sandboxAt(containers, {
    ...{
      id: standing,
      name: "bench",
      workdir: "/work",
      runtime: "runc",
      isolation: "shared-kernel",
      diskLimit: "watched",
    },
    ...{ commandTimeoutMs: defaultCommandTimeoutMs, outputLimit: defaultOutputLimit },
  });
  const comparisons: Comparison[] = [
    {
      name: "make a sandbox, run a command in it, remove it",
      against: "docker run, exec and rm",
      goal: { sign: "≤", ratio: 1 },
      note: "network none, limits, init; the engine's own work is in both",
      ours: () =>
        timed(async () => {
          const id = await makeContainer(containers);
          const own = sandboxAt(containers, { ...sandbox, id, commandTimeoutMs: 60_000, outputLimit: 1_000 });
          await own.exec(["true"]);
          await own.destroy();
        }),
      theirs: () =>
        timed(async () => {
          const id = docker("run", "--detach", ...flags, baseImage, "sleep", "600").trim();
          docker("exec", id, "true");
          docker("rm", "--force", "--volumes", id);
        }),
    },
    {
      name: "run a command in a sandbox that is there",
      against: "docker exec",
      goal: { sign: "≤", ratio: 1 },
      note: "with its time limit and its bounded output",
      ours: () => timed(() => sandbox.exec(["true"])),
      theirs: () => timed(async () => docker("exec", standing, "true")),
    },
  ];
  return { comparisons, [Symbol.asyncDispose]: () => sandbox.destroy() };
}

async function makeContainer(containers: Containers): Promise<string> {
  const { id } = await containers.create({
    name: `aimi-bench-${randomBytes(6).toString("hex")}`,
    labels: { "org.aimi.test": "bench" },
    ...{
      image: baseImage,
      command: ["sleep", "600"],
      env: {},
      user: "1000:1000",
      workdir: "/work",
      runtime: "runc",
    },
    network: { kind: "none" },
    limits: { ...defaultLimits, cpus: 1, memoryBytes: 256 * 1024 ** 2 },
    ...{ capabilities: [], readOnlyRoot: false, privileged: false, tmpBytes: 64 * 1024 ** 2, volumes: [] },
  });
  await containers.start(id);
  return id;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}
