import { findProgram, installPackages, missingPackages } from "../src/host/engine-packages.ts";
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

/** Programs that tests use, and the Debian package that brings each. */
const tools: Readonly<Record<string, string>> = { strace: "strace", crun: "crun" };
/** Comes along with them: it compiles filters of system calls, and is no program. */
const modules: readonly string[] = ["python3-seccomp"];

/** Installs what tests use where that can be done; returns the programs that are missing all the same. */
export async function prepareTools(): Promise<string[]> {
  const missing = async (): Promise<string[]> => {
    const found = await Promise.all(Object.keys(tools).map((name) => findProgram(name, process.env)));
    return Object.keys(tools).filter((_, index) => found[index] === null);
  };
  const names = await missing();
  const { system, isRoot } = await machineFacts();
  if (names.length === 0 || !isRoot || (system !== "debian" && system !== "ubuntu")) return names;
  const packages = [...names.flatMap((name) => tools[name] ?? []), ...modules];
  console.error(`Installing Debian packages for the tests: ${packages.join(", ")}`);
  await installPackages(packages, (step) => console.error(step));
  return await missing();
}
