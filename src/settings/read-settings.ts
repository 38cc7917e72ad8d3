import { createHash } from "node:crypto";
import { readFile, realpath, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import { isSystemError } from "../errors/system-errors.ts";
import { resolvesInsideFolder } from "../machine/path-containment.ts";
import type { EnvironmentVariables } from "../machine/user-folders.ts";
import type { LocatedDocument } from "./located-document.ts";
import { checkSettings, parseSettings } from "./parse-settings.ts";
import {
  type ExplainedSetting,
  explainSettings,
  type Settings,
  type SettingsFile,
  settingsWithoutOrigins,
} from "./rules/settings.ts";
import { settingsFromEnvironment } from "./rules/settings-environment.ts";
import type { FileContent, TrustFile } from "./trust-file.ts";

const largest = 1024 * 1024;

/** The settings that the flags of a command set. `nameOf` returns the flag that sets a value. */
export interface FlagSettings {
  readonly values: SettingsFile;
  readonly nameOf: (pointer: string) => string;
}

interface ReadSettingsDeps {
  /** The folder in which the user runs the command. */
  readonly folder: string;
  /** The root folder of the repository; null outside a repository. */
  readonly root: string | null;
  readonly configFolder: string;
  readonly env: EnvironmentVariables;
  readonly flags: FlagSettings;
  readonly trust: Pick<TrustFile, "isTrusted">;
}

/** A settings file with its content. */
type ReadSettingsFile = FileContent & LocatedDocument<SettingsFile>;

/** All settings of a command, as they were read once. */
export interface ReadSettings {
  /**
   * Each setting with its origin. If a project file that is not trusted sets a value that needs trust, the
   * value is reported, but not used.
   */
  readonly explained: readonly ExplainedSetting[];
  /** The values of `explained`. */
  readonly effective: Settings;
  /** The settings file of the project; null if there is none. */
  readonly projectFile: ReadSettingsFile | null;
  /** The settings in the user's own settings file. */
  readonly user: SettingsFile;
}

/** Reads all settings: from flags, environment variables, and the settings files of the project and the user. */
export async function readSettings(deps: ReadSettingsDeps): Promise<ReadSettings> {
  const { folder, root, flags, trust } = deps;
  const { settings, variableByPointer } = settingsFromEnvironment(deps.env);
  const flag = await checkSettings(flags.values, flags.nameOf);
  const environment = await checkSettings(settings, (pointer) => variableByPointer.get(pointer) ?? pointer);
  const [project, user] = await Promise.all([
    root === null ? null : readFileContent(join(root, ".aimi", "config.json"), root),
    readFileContent(join(deps.configFolder, "config.json")),
  ]);
  const [projectFile, userFile] = await Promise.all([
    project && parse({ ...project, path: relative(folder, project.path) || project.path }),
    user && parse(user),
  ]);
  const own = userFile?.document ?? {};
  const explained = explainSettings(
    { flag, environment, project: projectFile?.document ?? {}, user: own },
    { projectTrusted: project !== null && (await trust.isTrusted(project.realPath, project.sha256)) },
  );
  return { explained, effective: settingsWithoutOrigins(explained), projectFile, user: own };
}

/**
 * Returns the settings for a command that uses them. If a project file that is not trusted sets a value that
 * needs trust, throws UNTRUSTED with the position of this value.
 */
export function requireTrustedSettings({ explained, effective, projectFile }: ReadSettings): Settings {
  const refused = explained.find(({ untrusted }) => untrusted !== null);
  if (refused && projectFile) {
    const place = projectFile.locationOf(`/${refused.name.replaceAll(".", "/")}`);
    throw new SwarmError("UNTRUSTED", { place, field: refused.name, why: refused.untrusted ?? "" });
  }
  return effective;
}

async function parse(file: FileContent): Promise<ReadSettingsFile> {
  return { ...file, ...(await parseSettings(file.bytes, file.path)) };
}

/** Reads a file with settings of swarm; returns null if the file does not exist. */
async function readFileContent(file: string, within?: string): Promise<FileContent | null> {
  const refuse = (reason: string, cause?: unknown): never => {
    throw new SwarmError("FILE_UNREADABLE", { place: { file }, reason }, cause);
  };
  try {
    // Refuse all but regular files: to read a FIFO at this path would block for ever.
    if (!(await stat(file)).isFile()) refuse("the file is not a regular file");
    if (within !== undefined && !(await resolvesInsideFolder(within, file)))
      refuse("the file is a link to a file outside the repository");
    const bytes = await readFile(file);
    if (bytes.length > largest)
      throw new SwarmError("FILE_TOO_LARGE", { place: { file }, bytes: bytes.length, limit: largest });
    return {
      path: file,
      realPath: await realpath(file),
      bytes,
      sha256: createHash("sha256").update(bytes).digest("hex"),
    };
  } catch (error) {
    if (error instanceof SwarmError) throw error;
    if (isSystemError(error, "ENOENT", "ENOTDIR")) return null;
    const { code, message } = error as NodeJS.ErrnoException;
    return refuse(code ?? message, error);
  }
}
