import { hash } from "node:crypto";
import { join } from "node:path";
import { writeFileDurably } from "../../machine/durable-write.ts";
import { readJsonObject } from "../../machine/read-json-object.ts";
import { type EngineNetwork, maxSecondOctet, minSecondOctet } from "./engine-network.ts";

/** The files and folders of one private engine. */
export interface EngineFiles {
  readonly folder: string;
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

export function filesOf(folder: string): EngineFiles {
  // The maximum length of a socket's path is 107 bytes. The daemon's longest socket path adds 45 bytes to the
  // exec root.
  const run = Buffer.byteLength(folder) <= 55 ? folder : `/run/aimi-${hashOf(folder)}`;
  return {
    folder,
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

export function networkOf({ folder }: EngineFiles, secondOctet: number): EngineNetwork {
  return { bridge: `aimi-${hashOf(folder)}`, chain: `AIMI-${hashOf(folder)}`, secondOctet };
}

export function hashOf(folder: string): string {
  return hash("sha256", folder).slice(0, 6);
}

/** The facts about the private engine that swarm stores in a file and reads at the engine's next start. */
export interface EngineRecord {
  readonly octet: number;
  /**
   * Whether the engine has already started successfully once. The engine's data folder is then complete, and
   * swarm moves it aside only if the user requests this.
   */
  readonly started: boolean;
}

/** Reads the record of an engine. Without a record, swarm chooses the engine's addresses again, which is cheap. */
export async function readRecord({ record }: EngineFiles): Promise<EngineRecord | null> {
  const { octet, started } = await readJsonObject(record);
  if (typeof octet !== "number" || !Number.isInteger(octet)) return null;
  return octet >= minSecondOctet && octet <= maxSecondOctet ? { octet, started: started === true } : null;
}

export async function writeRecord({ record }: EngineFiles, content: EngineRecord): Promise<void> {
  await writeFileDurably(record, `${JSON.stringify(content)}\n`);
}

/** Reads from the daemon's configuration which container runtimes it has in addition to runc. */
export async function registeredRuntimes({ config }: EngineFiles): Promise<string[]> {
  return Object.keys((await readJsonObject(config))["runtimes"] ?? {});
}
