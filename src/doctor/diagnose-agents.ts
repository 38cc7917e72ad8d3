import { testInstalledPluginHook } from "../claude-code/test-plugin-hook.ts";
import type { Finding } from "../contract/doctor.ts";
import type { Project } from "../project/project.ts";
import { findCredentialNames } from "../secrets/credentials.ts";
import { good, missing, weak } from "./finding.ts";

type Host = Project["host"];

/** Returns the findings of `swarm doctor` about credentials for agents, and about the hook in Claude Code. */
export async function diagnoseAgents({ host }: Pick<Project, "host">): Promise<Finding[]> {
  return [await checkCredentials(host), await checkPluginHook(host)];
}

/** Returns the finding about the user's credentials for agents. */
async function checkCredentials({ env, folders }: Host): Promise<Finding> {
  const names = await findCredentialNames(env, folders);
  return names.length > 0
    ? good("credentials", `${names.join(", ")} present`)
    : weak(
        "credentials",
        "no credentials found; the agents `script` and `command` need no credentials",
        "Set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN for Claude Code.",
      );
}

/**
 * Returns the finding about the hook of swarm's plugin that is installed in Claude Code.
 * Runs sample commands through the hook.
 */
async function checkPluginHook({ folder, folders }: Host): Promise<Finding> {
  const hook = await testInstalledPluginHook(folders.home, folder);
  if (hook === null)
    return good("hook", "the hook is not installed; Claude Code asks the user before each swarm command");
  const { place, isEnabled, approved, refused, why } = hook;
  if (!isEnabled)
    return weak(
      "hook",
      `the hook is installed in ${place}, but disabled`,
      "`claude plugin enable aimi@aimi`",
    );
  // A hook that approves foreign commands is worse than no hook.
  if (!refused)
    return missing(
      "hook",
      `the hook in ${place} approves commands that are not swarm's own`,
      "`swarm plugin install`",
    );
  return approved
    ? good("hook", `the hook in ${place} approves swarm's own commands and nothing else`)
    : weak(
        "hook",
        `the hook in ${place} does not approve swarm's own commands: ${why}`,
        "`swarm plugin install` updates the hook",
      );
}
