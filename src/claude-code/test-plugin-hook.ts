import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { sanitizeText } from "../text/sanitize-text.ts";

/**
 * The result of testing the hook of swarm's installed Claude Code plugin with two commands. The hook should
 * approve the command of swarm, and leave the other command undecided.
 */
export interface HookTestResult {
  /** The path of the folder in which swarm's plugin is installed. */
  readonly place: string;
  readonly isEnabled: boolean;
  /** Whether the hook approves the command of swarm. */
  readonly approved: boolean;
  /** Whether the hook leaves the other command undecided. Then Claude Code asks the user. */
  readonly refused: boolean;
  /** The reason why the hook does not approve the command of swarm; meaningless if `approved` is true. */
  readonly why: string;
}

const pluginName = "aimi@aimi";
const limitMs = 20_000;

/**
 * Sends two sample calls to the hook of swarm's plugin that is installed in Claude Code. Returns the hook's
 * answers, or null if the plugin is not installed.
 */
export async function testInstalledPluginHook(home: string, cwd: string): Promise<HookTestResult | null> {
  const settings = join(home, ".claude");
  const { plugins } = await readJson(join(settings, "plugins", "installed_plugins.json"));
  const [entry] = plugins?.[pluginName] ?? [];
  const place = entry?.installPath;
  if (typeof place !== "string") return null;
  const { enabledPlugins } = await readJson(join(settings, "settings.json"));
  return testPluginHook(place, { cwd, isEnabled: enabledPlugins?.[pluginName] !== false });
}

/**
 * Sends two sample calls to the hook of a plugin and returns its answers. One call is a `swarm` command; the
 * other appends a second command, so the hook must not approve it.
 */
export async function testPluginHook(
  place: string,
  { cwd, isEnabled }: { readonly cwd: string; readonly isEnabled: boolean },
): Promise<HookTestResult> {
  const hook = join(place, "hooks", "auto-approve-cli.sh");
  const program = join(place, "bin", "swarm");
  const ours = payload(`${program} status --json`, cwd);
  const [said, other, explained] = await Promise.all([
    run(hook, [], ours),
    run(hook, [], payload(`${program} status --json; true`, cwd)),
    run(program, ["hook", "pre-tool-use", "--plugin", place, "--explain"], ours),
  ]);
  const approved = said.includes('"permissionDecision":"allow"');
  const refused = other.trim() === "";
  const why =
    sanitizeText(explained.replace(/^\w+: /, "").trim(), 300) || "the plugin's program printed no reason";
  return { place, isEnabled, approved, refused, why };
}

function payload(command: string, cwd: string): string {
  const call = { tool_name: "Bash", tool_input: { command, description: "a sample" } };
  return JSON.stringify({ hook_event_name: "PreToolUse", session_id: "sample", cwd, ...call });
}

async function run(file: string, args: readonly string[], input: string): Promise<string> {
  const { stdout } = await execa(file, [...args], { reject: false, input, timeout: limitMs });
  return typeof stdout === "string" ? stdout : "";
}

// biome-ignore lint/suspicious/noExplicitAny: another program's files, of which a few fields are read with care.
async function readJson(file: string): Promise<any> {
  try {
    return JSON.parse(await readFile(file, "utf8")) ?? {};
  } catch {
    // A missing or invalid file means that no plugin is installed.
    return {};
  }
}
