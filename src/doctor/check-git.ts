import type { Finding } from "../contract/doctor.ts";
import type { MachineFacts } from "../engine/machine-facts.ts";
import { createGit } from "../git/git.ts";
import { finding } from "./finding.ts";

/** Returns the finding of `swarm doctor` about the program git, which swarm starts in `folder`. */
export async function checkGit(folder: string, { system }: Pick<MachineFacts, "system">): Promise<Finding> {
  const version = await createGit(folder)
    .version()
    .catch(() => null);
  const install =
    system === "debian" || system === "ubuntu" ? "`apt-get install git`" : "Install git 2.38 or newer.";
  if (version === null) return finding("git", "missing", "git is not installed", install);
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const fits = major > 2 || (major === 2 && minor >= 38);
  return fits
    ? finding("git", "good", version)
    : finding(
        "git",
        "missing",
        `git ${version} is too old: swarm merges without a working tree, which needs git 2.38 or newer`,
        install,
      );
}
