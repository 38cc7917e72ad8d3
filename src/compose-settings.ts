import { join, relative } from "node:path";
import { flagForSetting } from "./cli/setting-flags.ts";
import { once } from "./domain/once.ts";
import type { Settings, SettingsFile } from "./domain/settings.ts";
import { settingsFromEnvironment } from "./domain/settings-environment.ts";
import { findRepository } from "./host/find-repository.ts";
import type { EnvironmentVariables, UserFolders } from "./host/user-folders.ts";
import type { Lock } from "./ports/lock.ts";
import type { ResolveSettingsDeps, resolveSettingsWithOrigins } from "./swarm/resolve-settings.ts";

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
      import("./host/trust-file.ts"),
      import("./schema/read-document.ts"),
      import("./host/settings-files.ts"),
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
      const { resolveSettingsWithOrigins } = await import("./swarm/resolve-settings.ts");
      return resolveSettingsWithOrigins(await settingsDeps());
    },

    resolveSettings: once(async () => {
      const { resolveSettings } = await import("./swarm/resolve-settings.ts");
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
