import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import writeFileAtomic from "write-file-atomic";
import { SwarmError } from "../../errors/errors.ts";
import { findMissingEnginePackages, findProgram, installPackages } from "../../machine/engine-packages.ts";
import type { Lock } from "../../machine/lock.ts";
import { unmountBelow } from "../../machine/mounts.ts";
import { endProcesses, findProcesses, isAlive } from "../../machine/processes.ts";
import type { EnvironmentVariables } from "../../machine/user-folders.ts";
import type { EngineStartOptions, PrivateEngine, PrivateEngineStatus } from "../private-engine.ts";
import { readMachineFacts } from "../read-machine.ts";
import {
  chooseSecondOctet,
  createEngineNetwork,
  daemonNetworkFlags,
  type EngineNetwork,
  maxSecondOctet,
  minSecondOctet,
  removeEngineNetwork,
} from "./engine-network.ts";
import { daemonRuntimes } from "./engine-runtimes.ts";

export interface PrivateEngineDeps {
  /** The folder of the private engine, below the user's state folder. */
  readonly folder: string;
  readonly env: EnvironmentVariables;
  /** The lock that prevents two starts at the same time from creating two engines. */
  readonly lock: Lock;
  /** Returns whether a container engine answers at an endpoint. */
  readonly answers: (endpoint: string) => Promise<boolean>;
}

/** The facts about the private engine that swarm stores in a file and reads at the engine's next start. */
interface EngineRecord {
  readonly octet: number;
  /**
   * Whether the engine has already started successfully once. The engine's data folder is then complete, and
   * swarm moves it aside only if the user requests this.
   */
  readonly started: boolean;
}

const readyMs = 60_000;
const busyMs = 15_000;
const stopMs = 40_000;

/**
 * Controls the user's private Docker daemon, which has its own socket, data, processes, bridge and iptables
 * chains.
 */
export function privateEngine({ folder, env, lock, answers }: PrivateEngineDeps): PrivateEngine {
  const files = filesOf(folder);
  const endpoint = `unix://${files.socket}`;

  const status = async (): Promise<PrivateEngineStatus> => {
    const { system, isRoot } = await readMachineFacts();
    const running = await answers(endpoint);
    const [pid = null] = running ? await findDaemon(files) : [];
    const reason = running ? null : await reasonAgainst(system, isRoot, env);
    return {
      state: running ? "running" : reason ? "unsupported" : "stopped",
      endpoint,
      folder,
      log: files.log,
      pid,
      runtimes: running ? ["runc", ...(await registeredRuntimes(files.config))] : [],
      reason,
    };
  };

  const startOnce = async (
    network: EngineNetwork,
    onStep: EngineStartOptions["onStep"],
  ): Promise<string | null> => {
    await clearStale(files);
    await mkdir(files.data, { recursive: true, mode: 0o711 });
    await mkdir(files.exec, { recursive: true, mode: 0o711 });
    await writeFileAtomic(
      files.config,
      `${JSON.stringify({ runtimes: await daemonRuntimes(env) }, null, 2)}\n`,
    );
    await createEngineNetwork(network);
    onStep("Starting the private Docker daemon");
    return runDaemon(files, network, () => answers(endpoint));
  };

  return {
    status,

    async missingPackages() {
      return (await status()).state === "stopped" ? findMissingEnginePackages(env) : [];
    },

    async start({ mayInstall, onStep, reset, signal }) {
      const before = await status();
      if (before.state === "running") return before;
      if (before.state === "unsupported") {
        const { system } = await readMachineFacts();
        throw new SwarmError("ENGINE_UNSUPPORTED", {
          system,
          reason: before.reason ?? "the private engine cannot run on this machine",
        });
      }
      const packages = await findMissingEnginePackages(env);
      if (packages.length > 0) {
        if (!mayInstall)
          throw new SwarmError("PACKAGES_NOT_INSTALLED", {
            packages,
            reason: "swarm is not allowed to install packages",
          });
        await installPackages(packages, onStep);
      }

      await mkdir(folder, { recursive: true, mode: 0o700 });
      await using _held = await lock.acquire(2 * readyMs, signal);
      // Another process may have started the engine while this one waited for the lock.
      if (await answers(endpoint)) return status();
      // Wait for a busy daemon instead of restarting it, so that its containers keep running.
      if ((await findDaemon(files)).length > 0 && (await waitUntil(() => answers(endpoint), busyMs)))
        return await status();
      await rm(files.log, { force: true });
      const known = await readRecord(files.record);
      if (reset) await setAside(files.data, onStep);
      const network = networkOf(folder, known?.octet ?? (await chooseSecondOctet(hashOf(folder))));
      const record: EngineRecord = {
        octet: network.secondOctet,
        started: !reset && (known?.started ?? false),
      };
      await writeRecord(files.record, record);
      await using undo = new AsyncDisposableStack();
      undo.defer(() => removeEngineNetwork(network));

      let problem = await startOnce(network, onStep);
      if (problem !== null) {
        onStep(
          `The Docker daemon did not start (${problem}); trying again without data that may be incomplete`,
        );
        // The engine can create its networks again. Before its first complete start, it can also create all
        // other data again.
        await setAside(record.started ? join(files.data, "network") : files.data, onStep);
        problem = await startOnce(network, onStep);
      }
      if (problem !== null) {
        await clearStale(files);
        throw new SwarmError("ENGINE_START_FAILED", { reason: problem, log: files.log });
      }
      undo.move();
      await writeRecord(files.record, { ...record, started: true });
      return await status();
    },

    async stop({ onStep }) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await using _held = await lock.acquire(2 * readyMs);
      const known = await readRecord(files.record);
      const network = networkOf(folder, known?.octet ?? minSecondOctet);
      // The containers of a killed daemon keep running, and only a daemon can end them properly.
      if (known && (await findDaemon(files)).length === 0 && (await hasContainers(network))) {
        const problem = await startOnce(network, onStep);
        if (problem !== null)
          throw new SwarmError("ENGINE_STOP_FAILED", {
            reason: `the engine's containers are still running, and swarm could not start the Docker daemon that must stop them: ${problem}`,
            log: files.log,
          });
      }
      const daemon = await findDaemon(files);
      if (daemon.length > 0) {
        onStep("Stopping the private Docker daemon and its containers");
        await endProcesses(daemon, stopMs);
      }
      await clearStale(files);
      await Promise.all([unmountBelow(files.data), unmountBelow(files.exec)]);
      await rm(files.exec, { recursive: true, force: true });
      if (files.run !== folder) await rm(files.run, { recursive: true, force: true });
      await removeEngineNetwork(network);
      if (await answers(endpoint))
        throw new SwarmError("ENGINE_STOP_FAILED", {
          reason: `an engine still answers at ${endpoint}`,
          log: files.log,
        });
      return await status();
    },
  };
}

interface EngineFiles {
  /**
   * The folder of the daemon's socket and exec root (`--exec-root`): the engine's folder, or a folder in
   * `/run` if the engine's path is too long for a socket.
   */
  readonly run: string;
  readonly socket: string;
  readonly data: string;
  readonly exec: string;
  readonly pid: string;
  readonly log: string;
  readonly config: string;
  readonly record: string;
}

function filesOf(folder: string): EngineFiles {
  // The maximum length of a socket's path is 107 bytes. The daemon's longest socket path adds 45 bytes to the
  // exec root.
  const run = Buffer.byteLength(folder) <= 55 ? folder : `/run/aimi-${hashOf(folder)}`;
  return {
    run,
    socket: join(run, "docker.sock"),
    exec: join(run, "exec"),
    data: join(folder, "data"),
    pid: join(folder, "docker.pid"),
    log: join(folder, "docker.log"),
    config: join(folder, "daemon.json"),
    record: join(folder, "engine.json"),
  };
}

function networkOf(folder: string, secondOctet: number): EngineNetwork {
  return { bridge: `aimi-${hashOf(folder)}`, chain: `AIMI-${hashOf(folder)}`, secondOctet };
}

function hashOf(folder: string): string {
  return createHash("sha256").update(folder).digest("hex").slice(0, 6);
}

async function reasonAgainst(
  system: string,
  isRoot: boolean,
  env: EnvironmentVariables,
): Promise<string | null> {
  if (process.platform !== "linux") return "the private engine needs Linux";
  if (!isRoot) return "only root can run the private engine";
  const installable = system === "debian" || system === "ubuntu";
  const present = await Promise.all(["dockerd", "iptables", "ip"].map((name) => findProgram(name, env)));
  return installable || !present.includes(null) ? null : "dockerd, iptables or ip is not installed";
}

async function findDaemon({ data }: EngineFiles): Promise<number[]> {
  return findProcesses(/^dockerd/, (argv) => argv[0]?.endsWith("dockerd") === true && argv.includes(data));
}

/**
 * Returns whether at least one container of the private engine is running. Containers keep running after
 * their daemon is killed.
 */
async function hasContainers({ bridge: namespace }: EngineNetwork): Promise<boolean> {
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
async function clearStale(files: EngineFiles): Promise<void> {
  await endProcesses(await findDaemon(files), 1_000);
  const containerd = join(files.exec, "containerd", "containerd.toml");
  await endProcesses(
    await findProcesses(
      /^containerd$/,
      (argv) => argv[0]?.endsWith("containerd") === true && argv.includes(containerd),
    ),
    5_000,
  );
  await Promise.all(
    [files.pid, files.socket, join(files.exec, "containerd", "containerd.pid")].map((file) =>
      rm(file, { force: true }),
    ),
  );
}

/**
 * Starts the engine's daemon and waits until it answers. Returns null on success, or the reason why the
 * daemon does not answer.
 */
async function runDaemon(
  files: EngineFiles,
  network: EngineNetwork,
  answers: () => Promise<boolean>,
): Promise<string | null> {
  const namespace = network.bridge;
  await using log = await open(files.log, "a", 0o600);
  const child = spawn(
    "dockerd",
    [
      ...["--config-file", files.config, "--host", `unix://${files.socket}`, "--data-root", files.data],
      ...["--exec-root", files.exec, "--pidfile", files.pid, ...daemonNetworkFlags(network)],
      // The private daemon may share the system's containerd with the system's Docker daemon, so it needs
      // containerd namespaces of its own.
      ...["--containerd-namespace", namespace, "--containerd-plugins-namespace", `${namespace}-plugins`],
    ],
    {
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
      env: daemonEnvironment(),
    },
  );
  const failed = new Promise<string>((resolve) => {
    child.once("error", ({ message }) => resolve(message));
    child.once("exit", (code, signal) =>
      resolve(`the Docker daemon ended with ${signal ?? `exit code ${code}`}`),
    );
  });
  child.unref();

  const end = performance.now() + readyMs;
  for (;;) {
    const ended = await Promise.race([failed, delay(50, null)]);
    if (ended !== null) return lastProblem(await readFile(files.log, "utf8")) ?? ended;
    if (await answers()) return null;
    if (performance.now() >= end) {
      if (child.pid !== undefined && (await isAlive(child.pid))) await endProcesses([child.pid], 5_000);
      return `the daemon did not answer within ${readyMs / 1000} s`;
    }
  }
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

async function waitUntil(isSo: () => Promise<boolean>, withinMs: number): Promise<boolean> {
  for (const end = performance.now() + withinMs; performance.now() < end; await delay(100)) {
    if (await isSo()) return true;
  }
  return false;
}

function lastProblem(log: string): string | null {
  const lines = log
    .trim()
    .split("\n")
    .filter((line) => /level=(?:fatal|error)|failed|unable/i.test(line));
  const last = lines.at(-1);
  return last ? (/msg="(.*)"$/.exec(last)?.[1] ?? last).slice(0, 300) : null;
}

async function setAside(path: string, onStep: (step: string) => void): Promise<void> {
  const exists = await stat(path).catch(() => null);
  if (!exists) return;
  await unmountBelow(path);
  const target = `${path}.set-aside-${new Date().toISOString().replace(/[:.]/g, "-")}`;
  await rename(path, target);
  onStep(`Moved ${path} to ${target}`);
}

/** Reads from the daemon's configuration which container runtimes it has in addition to runc. */
async function registeredRuntimes(config: string): Promise<string[]> {
  try {
    return Object.keys(JSON.parse(await readFile(config, "utf8")).runtimes);
  } catch {
    return [];
  }
}

async function readRecord(file: string): Promise<EngineRecord | null> {
  try {
    const { octet, started } = JSON.parse(await readFile(file, "utf8"));
    return Number.isInteger(octet) && octet >= minSecondOctet && octet <= maxSecondOctet
      ? { octet, started: started === true }
      : null;
  } catch {
    // Without a record, swarm chooses the engine's addresses again, which is cheap.
    return null;
  }
}

async function writeRecord(file: string, record: EngineRecord): Promise<void> {
  await writeFileAtomic(file, `${JSON.stringify(record)}\n`);
}
