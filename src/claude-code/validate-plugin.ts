import type { Project } from "../project/project.ts";
import type { PluginReport } from "./claude-code.ts";
import { readClaudeVersion, runClaude } from "./claude-program.ts";
import { type PluginProject, writePluginFolder } from "./plugin-folder.ts";
import { testPluginHook } from "./test-plugin-hook.ts";

/** Lets Claude Code validate the plugin's files, and runs sample tool calls through the plugin's hook. */
export async function validatePlugin(project: PluginProject & Pick<Project, "host">): Promise<PluginReport> {
  const folder = await writePluginFolder(project);
  const isInstalled = (await readClaudeVersion()) !== null;
  const checked = isInstalled ? await runClaude(["plugin", "validate", "--strict", folder]) : null;
  return {
    folder,
    claude: checked && { valid: checked.exitCode === 0, output: checked.output },
    hook: await testPluginHook(folder, { cwd: project.host.folder, isEnabled: true }),
  };
}
