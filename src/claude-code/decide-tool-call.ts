import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseHookPayload } from "./hook-payload.ts";
import { isTaskFile, whyCommandOutsideProject, whyProgramReplaceable } from "./installation-check.ts";
import { judgeAgentCommand } from "./rules/approve-command.ts";
import { type BudgetSources, whySpendingUnlimited } from "./spending-unlimited.ts";

/**
 * The answer of swarm's hook to Claude Code about a command that the agent wants to run with the Bash tool.
 */
export interface HookCommandAnswer {
  /** With `silent`, the hook gives no answer, so that Claude Code asks the user as usual. */
  readonly decision: "allow" | "ask" | "silent";
  readonly why: string;
  /**
   * The command that the agent wants to run, for the log; null if the call is not a valid call of the Bash
   * tool.
   */
  readonly command: string | null;
}

export interface Installation extends BudgetSources {
  /** The path of the folder in which swarm's npm package is installed. */
  readonly root: string;
  /** The path of the folder from which Claude Code loaded swarm's plugin. */
  readonly pluginRoot: string;
  /**
   * The path of the project of the Claude Code session, as Claude Code passes it to hooks; null if Claude
   * Code passes none.
   */
  readonly projectFolder: string | null;
}

/**
 * The fields of a Bash tool call that the hook understands. If a call has any other field, the hook leaves
 * the decision to the user.
 */
const harmless: readonly string[] = ["command", "description", "timeout", "run_in_background"];

/** Decides whether to approve an agent's tool call. The decision for a malformed call is `silent`. */
export function decideToolCall(text: string, installation: Installation): HookCommandAnswer {
  const payload = parseHookPayload(text);
  const command = payload?.toolName === "Bash" ? payload.toolInput["command"] : undefined;
  if (!payload || typeof command !== "string")
    return silent("the tool call is not a valid call of the tool Bash", null);
  const programs = programsOf(installation);
  const verdict = judgeAgentCommand(
    command,
    programs.map(({ program }) => program),
  );
  if (verdict.kind !== "allow") return { decision: verdict.kind, why: verdict.why, command };
  const field = Object.keys(payload.toolInput).find((name) => !harmless.includes(name));
  if (field !== undefined) return silent(`the Bash call has the unexpected field ${field}`, command);
  try {
    const place = { cwd: payload.cwd, projectFolder: installation.projectFolder };
    const used = programs.find(({ program }) => program === command.split(" ")[0]);
    const unsafe =
      whyCommandOutsideProject(place) ??
      (used ? whyProgramReplaceable(used, place) : "the command's program is not the installed swarm");
    if (unsafe !== null) return silent(unsafe, command);
    const outside = verdict.taskFiles.find((file) => !isTaskFile(payload.cwd, file));
    if (outside !== undefined) return silent(`the task file ${outside} is outside .aimi/tasks`, command);
    const unbudgeted = verdict.spends ? whySpendingUnlimited(verdict.spends, installation, place) : null;
    if (unbudgeted !== null) return { decision: "ask", why: unbudgeted, command };
  } catch (error) {
    return silent((error as Error).message, command);
  }
  return {
    decision: "allow",
    why: "the command is on the list of swarm commands that the hook approves",
    command,
  };
}

function programsOf({ root, pluginRoot }: Pick<Installation, "root" | "pluginRoot">) {
  const packages = join(root, "node_modules");
  const parts = [join(root, "bin", "swarm"), ...(existsSync(packages) ? [packages] : [])];
  const contents = join(root, "dist");
  return [root, pluginRoot].map((folder) => ({ program: join(folder, "bin", "swarm"), parts, contents }));
}

function silent(why: string, command: string | null): HookCommandAnswer {
  return { decision: "silent", why, command };
}

/** Renders the hook's answer as JSON for Claude Code. For `silent`, the hook must print nothing. */
export function renderCommandAnswer({ decision, why }: HookCommandAnswer): string {
  const hookSpecificOutput = {
    hookEventName: "PreToolUse",
    permissionDecision: decision,
    permissionDecisionReason: `aimi: ${why}`,
  };
  return `${JSON.stringify({ hookSpecificOutput })}\n`;
}
