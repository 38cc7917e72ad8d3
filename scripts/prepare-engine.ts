import { installPackages, missingPackages } from "../src/host/engine-packages.ts";
import { machineFacts } from "../src/host/machine.ts";

/** Makes sure that a private engine can be started here. Returns why not, or null. */
export async function prepareEngine(): Promise<string | null> {
  const { system, isRoot } = await machineFacts();
  if (process.platform !== "linux") return `a private engine needs Linux, this is ${system}`;
  if (!isRoot) return "a private engine needs root";
  const missing = await missingPackages(process.env);
  if (missing.length === 0) return null;
  if (system !== "debian" && system !== "ubuntu")
    return `${missing.join(", ")} cannot be installed by apt on ${system}`;
  console.error(`Installing Debian packages for the private engine: ${missing.join(", ")}`);
  await installPackages(missing, (step) => console.error(step));
  return null;
}
