import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { RecordedSettings } from "../domain/recorded-settings.ts";
import type { WorkerPlaces } from "../ports/worker-places.ts";

export interface RequestFiles
  extends Pick<WorkerPlaces, "findRequest" | "keepRequest" | "findTakenUp" | "keepTakenUp"> {
  /** The settings that the swarm was begun with. */
  findSettings(): Promise<RecordedSettings | null>;
  keepSettings(settings: RecordedSettings): Promise<void>;
  /** How its workers know the gateway. */
  findGateway<Note extends object>(): Promise<Note | null>;
  keepGateway(note: object): Promise<void>;
}

/** The requests of one swarm's workers as they were first sent, in the git folder of the worktree: nothing that cleans it reaches there. */
export function requestFiles(gitFolder: string, swarmId: string): RequestFiles {
  const folder = join(gitFolder, "aimi", "requests", swarmId);
  const fileOf = (slug: string, attempt: number): string => join(folder, `${slug}-${attempt}.json`);
  const takenUpOf = (slug: string, attempt: number): string => join(folder, `${slug}-${attempt}.taken-up`);
  const settingsFile = join(folder, "settings");
  const gatewayFile = join(folder, "gateway");
  return {
    findRequest: ({ slug, attempt }) => find(fileOf(slug, attempt)),
    keepRequest: ({ slug, attempt }, request) => keep(fileOf(slug, attempt), request),
    findTakenUp: ({ slug, attempt }) => find(takenUpOf(slug, attempt)),
    keepTakenUp: ({ slug, attempt }, takenUp) => keep(takenUpOf(slug, attempt), takenUp),
    findSettings: () => find(settingsFile),
    keepSettings: (settings) => keep(settingsFile, settings),
    findGateway: () => find(gatewayFile),
    keepGateway: (note) => keep(gatewayFile, note),
  };
}

async function find<Content>(file: string): Promise<Content | null> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
  return text === null ? null : JSON.parse(text);
}

/** Whole or not at all. */
async function keep(file: string, content: object): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.draft`;
  {
    await using handle = await open(draft, "w", 0o600);
    await handle.writeFile(JSON.stringify(content));
    await handle.sync();
  }
  await rename(draft, file);
  await using folder = await open(dirname(file), "r");
  await folder.sync();
}
