import { SwarmError } from "../errors/errors.ts";
import type { InstalledPlugin } from "./claude-code.ts";
import { readClaudeVersion, runClaude } from "./claude-program.ts";
import { type PluginProject, pluginVersion, writePluginFolder } from "./plugin-folder.ts";

/**
 * Installs swarm's plugin with the `claude` program on the PATH, or replaces an installed version. For Claude
 * Code, the plugin's folder is a marketplace that offers only this plugin.
 */
export async function installPlugin(
  project: PluginProject,
  onStep: (step: string) => void,
): Promise<InstalledPlugin> {
  const folder = await writePluginFolder(project);
  const version = await pluginVersion(folder);
  const claude = await readClaudeVersion();
  if (claude === null) throw new SwarmError("CLAUDE_MISSING", { folder });
  const run = async (...args: string[]): Promise<void> => {
    onStep(`claude ${args.join(" ")}`);
    const { exitCode, output } = await runClaude(args);
    const reason = output.trim().split("\n").at(-1) || `exit ${exitCode}`;
    if (exitCode !== 0) throw new SwarmError("CLAUDE_FAILED", { command: args.join(" "), reason });
  };
  await run("plugin", "validate", folder);
  // Uninstalls the plugin first: Claude Code would keep an installed copy of the same version, even if the
  // content differs.
  await runClaude(["plugin", "uninstall", "aimi@aimi"]);
  await run("plugin", "marketplace", "add", folder);
  await run("plugin", "marketplace", "update", "aimi");
  await run("plugin", "install", "aimi@aimi");
  return { folder, version, claude };
}
