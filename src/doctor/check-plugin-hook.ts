import { testInstalledPluginHook } from "../claude-code/test-plugin-hook.ts";
import type { Finding } from "../contract/doctor.ts";
import type { Project } from "../project/project.ts";
import { finding } from "./finding.ts";

/**
 * Returns the finding of `swarm doctor` about the hook of swarm's plugin that is installed in Claude Code.
 * Runs sample commands through the hook.
 */
export async function checkPluginHook({
  host: { folder, folders },
}: Pick<Project, "host">): Promise<Finding> {
  const hook = await testInstalledPluginHook(folders.home, folder);
  if (hook === null)
    return finding(
      "hook",
      "good",
      "the hook is not installed; Claude Code asks the user before each swarm command",
      null,
    );
  const { place, isEnabled, approved, refused, why } = hook;
  if (!isEnabled)
    return finding(
      "hook",
      "weak",
      `the hook is installed in ${place}, but disabled`,
      "`claude plugin enable aimi@aimi`",
    );
  // A hook that approves foreign commands is worse than no hook.
  if (!refused)
    return finding(
      "hook",
      "missing",
      `the hook in ${place} approves commands that are not swarm's own`,
      "`swarm plugin install`",
    );
  return approved
    ? finding("hook", "good", `the hook in ${place} approves swarm's own commands and nothing else`)
    : finding(
        "hook",
        "weak",
        `the hook in ${place} does not approve swarm's own commands: ${why}`,
        "`swarm plugin install` updates the hook",
      );
}
