import { join, relative } from "node:path";
import { flagForSetting } from "../cli/flags/setting-flags.ts";
import { findRepository } from "../git/find-repository.ts";
import type { Lock } from "../machine/lock.ts";
import type { EnvironmentVariables, UserFolders } from "../machine/user-folders.ts";
import type { ResolveSettingsDeps, resolveSettingsWithOrigins } from "../settings/resolve-settings.ts";
import type { Settings, SettingsFile } from "../settings/rules/settings.ts";
import { settingsFromEnvironment } from "../settings/rules/settings-environment.ts";
import { once } from "../text/once.ts";

export interface SettingsAccessDeps {
  readonly env: EnvironmentVariables;
  readonly folder: string;
  readonly folders: UserFolders;
  readonly flags: SettingsFile;
  readonly lockAt: (file: string) => Promise<Lock>;
}

export interface SettingsAccess {
  readonly settingsDeps: () => Promise<ResolveSettingsDeps>;
  readonly explainAllSettings: () => ReturnType<typeof resolveSettingsWithOrigins>;
  readonly resolveSettings: () => Promise<Settings>;
  readonly userSettings: () => Promise<SettingsFile>;
}

/**
 * Creates the access to the settings, which come from flags, environment variables, the project's settings
 * file and the user's settings file.
 */
export function createSettingsAccess({
  env,
  folder,
  folders,
  flags,
  lockAt,
}: SettingsAccessDeps): SettingsAccess {
  const settingsDeps = async (): Promise<ResolveSettingsDeps> => {
    const [{ openTrustFile }, parsers, { readSettingsFile }] = await Promise.all([
      import("../settings/trust-file.ts"),
      import("./read-document.ts"),
      import("../settings/settings-files.ts"),
    ]);
    const { settings, variableByPointer } = settingsFromEnvironment(env);
    const found = await findRepository(folder);
    return {
      parsers,
      trust: openTrustFile(folders.state, await lockAt(join(folders.state, "trust.lock"))),
      readProject: async () =>
        found
          ? shownFrom(folder, await readSettingsFile(join(found.root, ".aimi", "config.json"), found.root))
          : null,
      readUser: () => readSettingsFile(join(folders.config, "config.json")),
      flags: await parsers.checkSettings(flags, (pointer) =>
        pointer.startsWith("/agentCommand") ? "the agent's program after --" : flagForSetting(pointer),
      ),
      environment: await parsers.checkSettings(
        settings,
        (pointer) => variableByPointer.get(pointer) ?? pointer,
      ),
    };
  };

  return {
    settingsDeps,

    async explainAllSettings() {
      const { resolveSettingsWithOrigins } = await import("../settings/resolve-settings.ts");
      return resolveSettingsWithOrigins(await settingsDeps());
    },

    resolveSettings: once(async () => {
      const { resolveSettings } = await import("../settings/resolve-settings.ts");
      return resolveSettings(await settingsDeps());
    }),

    async userSettings() {
      const { readUser, parsers } = await settingsDeps();
      const file = await readUser();
      return file ? (await parsers.parseSettings(file.bytes, file.path)).document : {};
    },
  };
}

function shownFrom<File extends { readonly path: string }>(folder: string, file: File | null): File | null {
  return file && { ...file, path: relative(folder, file.path) || file.path };
}
