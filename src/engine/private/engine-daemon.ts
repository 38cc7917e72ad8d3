import { spawn } from "node:child_process";
import { mkdir, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { writeFileDurably } from "../../machine/durable-write.ts";
import { unmountBelow } from "../../machine/mounts.ts";
import { endProcesses, findProcesses, isAlive } from "../../machine/processes.ts";
import type { EnvironmentVariables } from "../../machine/user-folders.ts";
import type { EngineFiles } from "./engine-files.ts";
import { createEngineNetwork, daemonNetworkFlags, type EngineNetwork } from "./engine-network.ts";
import { daemonRuntimes } from "./engine-runtimes.ts";

/** The time in milliseconds within which the daemon must answer after its start. */
export const readyMs = 60_000;
const stopMs = 40_000;

/** Finds the process of the engine's daemon, also if another process of swarm started it. */
export async function findDaemon({ data }: EngineFiles): Promise<number[]> {
  return findProcesses(/^dockerd/, isProgram("dockerd", data));
}

/**
 * Returns whether at least one container of the private engine is running. Containers keep running after
 * their daemon is killed.
 */
export async function hasContainers({ bridge: namespace }: EngineNetwork): Promise<boolean> {
  const shims = await findProcesses(
    /^containerd-shim/,
    (argv) => argv[0]?.includes("containerd-shim") === true && argv.includes(namespace),
  );
  return shims.length > 0;
}

/**
 * Removes what the private engine leaves behind after a `kill -9` or a reboot: a wrong pid file, a dead
 * socket, and a containerd without its daemon.
 */
export async function clearStale(files: EngineFiles): Promise<void> {
  await endProcesses(await findDaemon(files), 1_000);
  const containerd = join(files.exec, "containerd", "containerd.toml");
  await endProcesses(await findProcesses(/^containerd$/, isProgram("containerd", containerd)), 5_000);
  const stale = [files.pid, files.socket, join(files.exec, "containerd", "containerd.pid")];
  await Promise.all(stale.map((file) => rm(file, { force: true })));
}

function isProgram(name: string, argument: string) {
  return (argv: readonly string[]) => argv[0]?.endsWith(name) === true && argv.includes(argument);
}

export interface DaemonOptions {
  readonly env: EnvironmentVariables;
  /** Returns whether the engine answers. */
  readonly answers: () => Promise<boolean>;
  readonly onStep: (step: string) => void;
}

/**
 * Starts the engine's daemon and waits until it answers. Returns null on success, or the reason why the
 * daemon does not answer.
 */
export async function startDaemon(
  files: EngineFiles,
  network: EngineNetwork,
  { env, answers, onStep }: DaemonOptions,
): Promise<string | null> {
  await clearStale(files);
  await mkdir(files.data, { recursive: true, mode: 0o711 });
  await mkdir(files.exec, { recursive: true, mode: 0o711 });
  await writeFileDurably(
    files.config,
    `${JSON.stringify({ runtimes: await daemonRuntimes(env) }, null, 2)}\n`,
  );
  await createEngineNetwork(network);
  onStep("Starting the private Docker daemon");
  await using log = await open(files.log, "a", 0o600);
  const child = spawn("dockerd", daemonArguments(files, network), {
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
    env: daemonEnvironment(),
  });
  const failed = new Promise<string>((resolve) => {
    child.once("error", ({ message }) => resolve(message));
    child.once("exit", (code, signal) =>
      resolve(`the Docker daemon ended with ${signal ?? `exit code ${code}`}`),
    );
  });
  child.unref();

  for (const end = performance.now() + readyMs; ; ) {
    const ended = await Promise.race([failed, delay(50, null)]);
    if (ended !== null) return lastProblem(await readFile(files.log, "utf8")) ?? ended;
    if (await answers()) return null;
    if (performance.now() >= end) {
      if (child.pid !== undefined && isAlive(child.pid)) await endProcesses([child.pid], 5_000);
      return `the daemon did not answer within ${readyMs / 1000} s`;
    }
  }
}

/** Ends the engine's daemon, and removes what only a running engine needs. */
export async function stopDaemon(files: EngineFiles, onStep: (step: string) => void): Promise<void> {
  const daemon = await findDaemon(files);
  if (daemon.length > 0) {
    onStep("Stopping the private Docker daemon and its containers");
    await endProcesses(daemon, stopMs);
  }
  await clearStale(files);
  await Promise.all([unmountBelow(files.data), unmountBelow(files.exec)]);
  await rm(files.exec, { recursive: true, force: true });
  if (files.run !== files.folder) await rm(files.run, { recursive: true, force: true });
}

function daemonArguments(files: EngineFiles, network: EngineNetwork): string[] {
  const namespace = network.bridge;
  const options = {
    "config-file": files.config,
    host: `unix://${files.socket}`,
    "data-root": files.data,
    "exec-root": files.exec,
    pidfile: files.pid,
    // The private daemon may share the system's containerd with the system's Docker daemon, so it needs
    // containerd namespaces of its own.
    "containerd-namespace": namespace,
    "containerd-plugins-namespace": `${namespace}-plugins`,
  };
  return [
    ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]),
    ...daemonNetworkFlags(network),
  ];
}

/**
 * Returns the environment variables for the engine's daemon. The daemon outlives this process, so it must not
 * inherit secrets.
 */
function daemonEnvironment(): NodeJS.ProcessEnv {
  const wanted = Object.entries(process.env).filter(([name]) =>
    /^(?:HOME|TMPDIR|LANG|LC_.*|.*_proxy)$/i.test(name),
  );
  return { ...Object.fromEntries(wanted), PATH: `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin` };
}

function lastProblem(log: string): string | null {
  const last = log
    .trim()
    .split("\n")
    .findLast((line) => /level=(?:fatal|error)|failed|unable/i.test(line));
  return last ? (/msg="(.*)"$/.exec(last)?.[1] ?? last).slice(0, 300) : null;
}
