import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { PluginOperations } from "./cli/composition.ts";
import type { UserFolders } from "./host/user-folders.ts";
import type { Lock } from "./ports/lock.ts";

export interface PluginOperationsDeps {
  readonly folder: string;
  readonly folders: UserFolders;
  readonly lockAt: (file: string) => Promise<Lock>;
}

/** The root folder of swarm's package: the parent folder of both `src` and `dist`. */
const packageRoot = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");

/** Creates the operations of swarm's plugin for Claude Code, such as installing the plugin. */
export function createPluginOperations({ folder, folders, lockAt }: PluginOperationsDeps): PluginOperations {
  const target = join(folders.state, "plugin");

  const path = async (): Promise<string> => {
    const { writePluginFolder } = await import("./host/plugin-folder.ts");
    const lock = await lockAt(join(folders.state, "plugin.lock"));
    await writePluginFolder(packageRoot, { target, node: process.execPath, lock });
    return target;
  };

  return {
    path,

    async validate() {
      const [{ claudeProgram }, { testPluginHook }] = await Promise.all([
        import("./host/claude-program.ts"),
        import("./host/installed-plugin.ts"),
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
        import("./swarm/install-plugin.ts"),
        import("./host/claude-program.ts"),
        import("./host/plugin-folder.ts"),
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
