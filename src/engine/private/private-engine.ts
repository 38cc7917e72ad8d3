import { mkdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { SwarmError } from "../../errors/errors.ts";
import { findMissingEnginePackages, findProgram, installPackages } from "../../machine/engine-packages.ts";
import type { Lock } from "../../machine/locks/lock.ts";
import { unmountBelow } from "../../machine/mounts.ts";
import { pollUntilAnswer } from "../../machine/poll-until.ts";
import type { EnvironmentVariables } from "../../machine/user-folders.ts";
import type { MachineFacts } from "../machine-facts.ts";
import type { EngineStartOptions, PrivateEngine, PrivateEngineStatus } from "../private-engine.ts";
import { readMachineFacts } from "../read-machine.ts";
import { clearStale, findDaemon, hasContainers, readyMs, startDaemon, stopDaemon } from "./engine-daemon.ts";
import {
  type EngineFiles,
  type EngineRecord,
  filesOf,
  hashOf,
  networkOf,
  readRecord,
  registeredRuntimes,
  writeRecord,
} from "./engine-files.ts";
import { chooseSecondOctet, minSecondOctet, removeEngineNetwork } from "./engine-network.ts";

export interface PrivateEngineDeps {
  /** The folder of the private engine, below the user's state folder. */
  readonly folder: string;
  readonly env: EnvironmentVariables;
  /** The lock that prevents two starts at the same time from creating two engines. */
  readonly lock: Lock;
  /** Returns whether a container engine answers at an endpoint. */
  readonly answers: (endpoint: string) => Promise<boolean>;
}

type OnStep = EngineStartOptions["onStep"];

const busyMs = 15_000;

/**
 * Controls the user's private Docker daemon, which has its own socket, data, processes, bridge and iptables
 * chains.
 */
export function privateEngine({ folder, env, lock, ...deps }: PrivateEngineDeps): PrivateEngine {
  const files = filesOf(folder);
  const endpoint = `unix://${files.socket}`;
  const answers = () => deps.answers(endpoint);
  const locked = async (signal?: AbortSignal) => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return lock.acquire(2 * readyMs, signal);
  };

  const status = async (): Promise<PrivateEngineStatus> => {
    const machine = await readMachineFacts();
    const running = await answers();
    const [pid = null] = running ? await findDaemon(files) : [];
    const reason = running ? null : await reasonAgainst(machine, env);
    return {
      state: running ? "running" : reason ? "unsupported" : "stopped",
      endpoint,
      folder,
      log: files.log,
      pid,
      runtimes: running ? ["runc", ...(await registeredRuntimes(files))] : [],
      reason,
    };
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
      await requirePackages(env, mayInstall, onStep);

      await using _held = await locked(signal);
      // Another process may have started the engine while this one waited for the lock.
      if (await answers()) return status();
      // Wait for a busy daemon instead of restarting it, so that its containers keep running.
      if ((await findDaemon(files)).length > 0 && (await waitUntil(answers, busyMs))) return await status();
      await rm(files.log, { force: true });
      const known = await readRecord(files);
      if (reset) await setAside(files.data, onStep);
      const octet = known?.octet ?? (await chooseSecondOctet(hashOf(folder)));
      const record = { octet, started: !reset && (known?.started ?? false) };
      await startWithRetry(files, record, { env, answers, onStep });
      return await status();
    },

    async stop({ onStep }) {
      await using _held = await locked();
      const known = await readRecord(files);
      const network = networkOf(files, known?.octet ?? minSecondOctet);
      // The containers of a killed daemon keep running, and only a daemon can end them properly.
      if (known && (await findDaemon(files)).length === 0 && (await hasContainers(network))) {
        const problem = await startDaemon(files, network, { env, answers, onStep });
        if (problem !== null)
          throw new SwarmError("ENGINE_STOP_FAILED", {
            reason: `the engine's containers are still running, and swarm could not start the Docker daemon that must stop them: ${problem}`,
            log: files.log,
          });
      }
      await stopDaemon(files, onStep);
      await removeEngineNetwork(network);
      if (await answers())
        throw new SwarmError("ENGINE_STOP_FAILED", {
          reason: `an engine still answers at ${endpoint}`,
          log: files.log,
        });
      return await status();
    },
  };
}

/** Starts the engine, a second time without data that may be incomplete. Throws if the engine does not start. */
async function startWithRetry(
  files: EngineFiles,
  record: EngineRecord,
  options: Parameters<typeof startDaemon>[2],
): Promise<void> {
  const network = networkOf(files, record.octet);
  const { onStep } = options;
  await writeRecord(files, record);
  await using undo = new AsyncDisposableStack();
  undo.defer(() => removeEngineNetwork(network));

  let problem = await startDaemon(files, network, options);
  if (problem !== null) {
    onStep(`The Docker daemon did not start (${problem}); trying again without data that may be incomplete`);
    // The engine can create its networks again. Before its first complete start, it can also create all
    // other data again.
    await setAside(record.started ? join(files.data, "network") : files.data, onStep);
    problem = await startDaemon(files, network, options);
  }
  if (problem !== null) {
    await clearStale(files);
    throw new SwarmError("ENGINE_START_FAILED", { reason: problem, log: files.log });
  }
  undo.move();
  await writeRecord(files, { ...record, started: true });
}

async function requirePackages(
  env: EnvironmentVariables,
  mayInstall: boolean,
  onStep: OnStep,
): Promise<void> {
  const packages = await findMissingEnginePackages(env);
  if (packages.length === 0) return;
  if (!mayInstall)
    throw new SwarmError("PACKAGES_NOT_INSTALLED", {
      packages,
      reason: "swarm is not allowed to install packages",
    });
  await installPackages(packages, onStep);
}

async function reasonAgainst(
  { system, isRoot }: MachineFacts,
  env: EnvironmentVariables,
): Promise<string | null> {
  if (process.platform !== "linux") return "the private engine needs Linux";
  if (!isRoot) return "only root can run the private engine";
  const installable = system === "debian" || system === "ubuntu";
  const present = await Promise.all(["dockerd", "iptables", "ip"].map((name) => findProgram(name, env)));
  return installable || !present.includes(null) ? null : "dockerd, iptables or ip is not installed";
}

async function waitUntil(isSo: () => Promise<boolean>, waitMs: number): Promise<boolean> {
  const ask = async (): Promise<true | undefined> => (await isSo()) || undefined;
  return (await pollUntilAnswer(ask, { waitMs, everyMs: 100 })) === true;
}

async function setAside(path: string, onStep: OnStep): Promise<void> {
  if (!(await stat(path).catch(() => null))) return;
  await unmountBelow(path);
  const target = `${path}.set-aside-${new Date().toISOString().replace(/[:.]/g, "-")}`;
  await rename(path, target);
  onStep(`Moved ${path} to ${target}`);
}
