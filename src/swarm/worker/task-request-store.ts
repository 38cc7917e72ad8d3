import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ifMissing } from "../../errors/system-errors.ts";
import { writeFileDurably } from "../../machine/durable-write.ts";
import type { RecordedSettings } from "../../settings/rules/recorded-settings.ts";
import type { WorkerChannel } from "./worker-channel-port.ts";

export interface TaskRequestStore
  extends Pick<WorkerChannel, "findRequest" | "storeRequest" | "findRework" | "storeRework"> {
  /** Reads the stored settings with which the user started the swarm. Returns null if none are stored. */
  findSettings(): Promise<RecordedSettings | null>;
  storeSettings(settings: RecordedSettings): Promise<void>;
  /**
   * Reads the stored data about the swarm's gateway: its secret, transport and runtime. Returns null if none
   * are stored.
   */
  findGateway<Note extends object>(): Promise<Note | null>;
  storeGateway(note: object): Promise<void>;
}

/**
 * Opens the store of the task requests that the host sends to a swarm's workers. The files are in the
 * worktree's git folder, which `git clean` does not touch.
 */
export function openTaskRequestStore(gitFolder: string, swarmId: string): TaskRequestStore {
  const folder = join(gitFolder, "aimi", "requests", swarmId);
  const fileOf = (slug: string, attempt: number): string => join(folder, `${slug}-${attempt}.json`);
  const reworkFileOf = (slug: string, attempt: number): string => join(folder, `${slug}-${attempt}.taken-up`);
  const settingsFile = join(folder, "settings");
  const gatewayFile = join(folder, "gateway");
  return {
    findRequest: ({ slug, attempt }) => find(fileOf(slug, attempt)),
    storeRequest: ({ slug, attempt }, request) => keep(fileOf(slug, attempt), request),
    findRework: ({ slug, attempt }) => find(reworkFileOf(slug, attempt)),
    storeRework: ({ slug, attempt }, rework) => keep(reworkFileOf(slug, attempt), rework),
    findSettings: () => find(settingsFile),
    storeSettings: (settings) => keep(settingsFile, settings),
    findGateway: () => find(gatewayFile),
    storeGateway: (note) => keep(gatewayFile, note),
  };
}

async function find<Content>(file: string): Promise<Content | null> {
  const text = await readFile(file, "utf8").catch(ifMissing(null));
  return text === null ? null : JSON.parse(text);
}

/** Writes content to a file atomically and durably. Replaces an existing file. */
async function keep(file: string, content: object): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFileDurably(file, JSON.stringify(content), { mode: 0o600 });
}
