import { SwarmError } from "../errors/errors.ts";
import type { ClaudeProgram, InstalledPlugin } from "./claude-code.ts";

export interface InstallPluginDeps {
  readonly claude: ClaudeProgram;
  /** The path of the folder that contains swarm's plugin for Claude Code. */
  readonly folder: string;
  readonly version: string;
  readonly onStep: (step: string) => void;
}

/**
 * Installs swarm's plugin in Claude Code, or replaces an installed version. For Claude Code, the plugin's
 * folder is a marketplace that offers only this plugin.
 */
export async function installPlugin(deps: InstallPluginDeps): Promise<InstalledPlugin> {
  const { claude, folder, version, onStep } = deps;
  const found = await claude.version();
  if (found === null) throw new SwarmError("CLAUDE_MISSING", { folder });
  const run = async (...args: string[]): Promise<void> => {
    onStep(`claude ${args.join(" ")}`);
    const { exitCode, output } = await claude.run(args);
    const reason = output.trim().split("\n").at(-1) || `exit ${exitCode}`;
    if (exitCode !== 0) throw new SwarmError("CLAUDE_FAILED", { command: args.join(" "), reason });
  };
  await run("plugin", "validate", folder);
  // Uninstalls the plugin first: Claude Code would keep an installed copy of the same version, even if the
  // content differs.
  await claude.run(["plugin", "uninstall", "aimi@aimi"]);
  await run("plugin", "marketplace", "add", folder);
  await run("plugin", "marketplace", "update", "aimi");
  await run("plugin", "install", "aimi@aimi");
  return { folder, version, claude: found };
}
