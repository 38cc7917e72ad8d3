import { join } from "node:path";
import type { PluginOperations } from "../cli/composition.ts";
import type { Lock } from "../machine/lock.ts";
import { packageFolder } from "../machine/package-folder.ts";
import type { UserFolders } from "../machine/user-folders.ts";

export interface PluginOperationsDeps {
  readonly folder: string;
  readonly folders: UserFolders;
  readonly lockAt: (file: string) => Promise<Lock>;
}

/** Creates the operations of swarm's plugin for Claude Code, such as installing the plugin. */
export function createPluginOperations({ folder, folders, lockAt }: PluginOperationsDeps): PluginOperations {
  const target = join(folders.state, "plugin");

  const path = async (): Promise<string> => {
    const { writePluginFolder } = await import("../claude-code/plugin-folder.ts");
    const lock = await lockAt(join(folders.state, "plugin.lock"));
    await writePluginFolder(packageFolder, { target, node: process.execPath, lock });
    return target;
  };

  return {
    path,

    async validate() {
      const [{ claudeProgram }, { testPluginHook }] = await Promise.all([
        import("../claude-code/claude-program.ts"),
        import("../claude-code/test-plugin-hook.ts"),
      ]);
      const made = await path();
      const isThere = (await claudeProgram.version()) !== null;
      const checked = isThere ? await claudeProgram.run(["plugin", "validate", "--strict", made]) : null;
      return {
        folder: made,
        claude: checked && { valid: checked.exitCode === 0, output: checked.output },
        hook: await testPluginHook(made, { cwd: folder, isEnabled: true }),
      };
    },

    async install(onStep) {
      const [{ installPlugin }, { claudeProgram }, { pluginVersion }] = await Promise.all([
        import("../claude-code/install-plugin.ts"),
        import("../claude-code/claude-program.ts"),
        import("../claude-code/plugin-folder.ts"),
      ]);
      const made = await path();
      return installPlugin({
        claude: claudeProgram,
        folder: made,
        version: await pluginVersion(made),
        onStep,
      });
    },
  };
}
