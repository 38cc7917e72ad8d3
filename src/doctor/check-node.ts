import type { Finding } from "../contract/doctor.ts";
import { finding } from "./finding.ts";

/** Returns the finding of `swarm doctor` about the version of Node. */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  const fits = (major === 24 && minor >= 15) || major >= 26;
  return fits
    ? finding("node", "good", version)
    : finding("node", "missing", `version ${version} is too old`, "Install Node 24.15 or newer.");
}
