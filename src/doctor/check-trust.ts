import type { Finding } from "../contract/doctor.ts";
import type { Project } from "../project/project.ts";
import { findFilesToTrust } from "../tasks/trust-files.ts";
import { finding } from "./finding.ts";

/** Returns the finding of `swarm doctor` about files that need the user's trust and do not have it yet. */
export async function checkTrust(project: Pick<Project, "settings" | "tasks" | "trust">): Promise<Finding> {
  const files = await findFilesToTrust(project);
  const untrusted = files.filter(({ trusted }) => !trusted).map(({ path }) => path);
  if (untrusted.length === 0)
    return finding("trust", "good", "no file of this project still needs to be trusted");
  return finding(
    "trust",
    "weak",
    `swarm refuses these files until you trust them: ${untrusted.join(", ")}`,
    "Read the files, then run `swarm trust`.",
  );
}
