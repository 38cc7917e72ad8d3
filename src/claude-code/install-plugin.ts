import { execa } from "execa";
import { SwarmError } from "../errors/errors.ts";
import { sanitizeLines } from "../text/sanitize-text.ts";
import { type PluginProject, pluginVersion, writePluginFolder } from "./plugin-folder.ts";
import { type HookTestResult, testPluginHook } from "./test-plugin-hook.ts";

export interface InstalledPlugin {
  readonly folder: string;
  readonly version: string;
  /** The output of `claude --version` of the Claude Code into which the plugin is installed. */
  readonly claude: string;
}

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

export interface PluginReport {
  readonly folder: string;
  /**
   * The result of `claude plugin validate`: whether the plugin is valid, and the output. Null if `claude` is
   * not installed.
   */
  readonly claude: { readonly valid: boolean; readonly output: string } | null;
  readonly hook: HookTestResult;
}

/** Lets Claude Code validate the plugin's files, and runs sample tool calls through the plugin's hook. */
export async function validatePlugin(project: PluginProject): Promise<PluginReport> {
  const folder = await writePluginFolder(project);
  const isInstalled = (await readClaudeVersion()) !== null;
  const checked = isInstalled ? await runClaude(["plugin", "validate", "--strict", folder]) : null;
  return {
    folder,
    claude: checked && { valid: checked.exitCode === 0, output: checked.output },
    hook: await testPluginHook(folder, { cwd: project.host.folder, isEnabled: true }),
  };
}

const limitMs = 120_000;

/** Returns the version of the program `claude` (Claude Code); null if `claude` is not installed. */
async function readClaudeVersion(): Promise<string | null> {
  const { stdout, exitCode } = await execa("claude", ["--version"], {
    reject: false,
    stdin: "ignore",
    timeout: limitMs,
  });
  return exitCode === 0 ? (stdout.split("\n")[0] ?? "") : null;
}

/**
 * Runs the `claude` program that is found through PATH, without a shell. The program gets no input, so it
 * cannot prompt the user.
 */
async function runClaude(
  args: readonly string[],
): Promise<{ readonly exitCode: number; readonly output: string }> {
  const { all, exitCode } = await execa("claude", [...args], {
    reject: false,
    stdin: "ignore",
    timeout: limitMs,
    all: true,
  });
  return { exitCode: exitCode ?? -1, output: sanitizeLines(all ?? "") };
}
