import { SwarmError } from "../errors/errors.ts";
import type { DocumentParsers, LocatedDocument } from "./located-document.ts";
import {
  type ExplainedSetting,
  explainSettings,
  type Settings,
  type SettingsFile,
  settingsWithoutOrigins,
} from "./rules/settings.ts";
import type { FileContent, TrustFile } from "./trusted-files.ts";

export interface ResolveSettingsDeps {
  readonly parsers: Pick<DocumentParsers, "parseSettings">;
  readonly trust: Pick<TrustFile, "isTrusted">;
  readonly readProject: () => Promise<FileContent | null>;
  readonly readUser: () => Promise<FileContent | null>;
  readonly flags: SettingsFile;
  readonly environment: SettingsFile;
}

/**
 * Returns every setting with its origin: a flag, an environment variable, or the settings file of the project
 * or the user. If a project file that is not trusted sets a value that needs trust, the value is reported,
 * but not used.
 */
export async function resolveSettingsWithOrigins(
  deps: ResolveSettingsDeps,
): Promise<{ settings: ExplainedSetting[]; project: LocatedDocument<SettingsFile> | null }> {
  const [project, user] = await Promise.all([deps.readProject(), deps.readUser()]);
  const parse = (file: FileContent | null) =>
    file ? deps.parsers.parseSettings(file.bytes, file.path) : null;
  const [projectSettings, userSettings] = await Promise.all([parse(project), parse(user)]);
  const projectTrusted = project !== null && (await deps.trust.isTrusted(project.realPath, project.sha256));
  const sources = {
    flag: deps.flags,
    environment: deps.environment,
    project: projectSettings?.document ?? {},
    user: userSettings?.document ?? {},
  };
  return { settings: explainSettings(sources, { projectTrusted }), project: projectSettings };
}

/**
 * Returns the settings for a command that uses them. If a project file that is not trusted sets a value that
 * needs trust, throws UNTRUSTED with the position of this value.
 */
export async function resolveSettings(deps: ResolveSettingsDeps): Promise<Settings> {
  const { settings, project } = await resolveSettingsWithOrigins(deps);
  const refused = settings.find(({ untrusted }) => untrusted !== null);
  if (refused && project) {
    const place = project.locationOf(`/${refused.name.replaceAll(".", "/")}`);
    throw new SwarmError("UNTRUSTED", { place, field: refused.name, why: refused.untrusted ?? "" });
  }
  return settingsWithoutOrigins(settings);
}
