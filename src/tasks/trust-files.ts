import type { ReadSettings } from "../settings/read-settings.ts";
import { explainSettings, type Settings } from "../settings/rules/settings.ts";
import { findFieldsNeedingTrust } from "../settings/rules/trust.ts";
import type { FileContent, TrustFile } from "../settings/trust-file.ts";
import { formatLocation } from "../text/source-location.ts";
import { readTaskFile } from "./parse-task-file.ts";
import type { ProjectTasks, TaskFolder } from "./project-tasks.ts";

/** The parts of a project with which a command finds and trusts its files. */
interface TrustAccess {
  settings(): Promise<ReadSettings>;
  readonly tasks: Pick<ProjectTasks, "folder">;
  trust(): Promise<TrustFile>;
}

/** A file of the project with values that swarm uses only if the user trusts the file. */
interface FileToTrust extends Omit<FileContent, "bytes"> {
  /**
   * The values in the file that need the user's trust. Each text contains the position, the reason and the
   * value.
   */
  readonly asks: readonly string[];
  readonly trusted: boolean;
}

/** Finds every settings and task file of the project with values that need the user's trust. */
export async function findFilesToTrust(project: TrustAccess): Promise<FileToTrust[]> {
  const [settings, trust] = [await project.settings(), await project.trust()];
  const files = [
    await settingsToTrust(settings, trust),
    ...(await tasksToTrust(await project.tasks.folder(), trust, settings.effective)),
  ];
  return files.filter((file) => file !== null).filter(({ asks }) => asks.length > 0);
}

/**
 * Records that the user trusts these files with exactly their present contents. A file that changes later
 * needs trust again.
 */
export async function trustFiles(
  project: Pick<TrustAccess, "trust">,
  files: readonly FileToTrust[],
): Promise<void> {
  await (await project.trust()).trust(files.map(({ realPath, sha256 }) => ({ realPath, sha256 })));
}

async function settingsToTrust(
  { projectFile, user }: ReadSettings,
  trust: TrustFile,
): Promise<FileToTrust | null> {
  if (!projectFile) return null;
  const { document, locationOf } = projectFile;
  const explained = explainSettings(
    { flag: {}, environment: {}, project: document, user },
    { projectTrusted: false },
  );
  const asks = explained.flatMap(({ name, untrusted }) =>
    untrusted === null
      ? []
      : [
          `${formatLocation(locationOf(pointerOf(name)))} ${untrusted}: ${valueAt(document, pointerOf(name))}`,
        ],
  );
  return fileToTrust(projectFile, asks, trust);
}

async function tasksToTrust(
  folder: TaskFolder,
  trust: TrustFile,
  settings: Settings,
): Promise<FileToTrust[]> {
  const { fileNames } = await folder.list();
  return Promise.all(
    fileNames.map(async (name) => {
      const file = await readTaskFile(folder, name);
      const { document, locationOf } = file;
      const asks = findFieldsNeedingTrust(document, settings).map(
        ({ pointer, why }) => `${formatLocation(locationOf(pointer))} ${why}: ${valueAt(document, pointer)}`,
      );
      return fileToTrust(file, asks, trust);
    }),
  );
}

async function fileToTrust(
  { path, realPath, sha256 }: FileContent,
  asks: readonly string[],
  trust: TrustFile,
): Promise<FileToTrust> {
  return { path, realPath, sha256, asks, trusted: await trust.isTrusted(realPath, sha256) };
}

function pointerOf(setting: string): string {
  return `/${setting.replaceAll(".", "/")}`;
}

/**
 * Returns the exact value that needs trust as text, so that the user sees everything that the trust covers.
 */
function valueAt(document: object, pointer: string): string {
  const value = pointer
    .split("/")
    .slice(1)
    .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], document);
  return JSON.stringify(value);
}
