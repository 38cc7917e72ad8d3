import type { Finding } from "../contract/doctor.ts";
import type { Project } from "../project/project.ts";
import { findCredentialNames } from "../secrets/credentials.ts";
import { finding } from "./finding.ts";

/** Returns the finding of `swarm doctor` about the user's credentials for agents. */
export async function checkCredentials({ host: { env, folders } }: Pick<Project, "host">): Promise<Finding> {
  const names = await findCredentialNames(env, folders);
  return names.length > 0
    ? finding("credentials", "good", `${names.join(", ")} present`)
    : finding(
        "credentials",
        "weak",
        "no credentials found; the agents `script` and `command` need no credentials",
        "Set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN for Claude Code.",
      );
}
