import { readMachineFacts } from "../src/engine/read-machine.ts";
import { findMissingEnginePackages, findProgram, installPackages } from "../src/machine/engine-packages.ts";

/** The programs that tests use, each with its Debian package. */
const tools: Readonly<Record<string, string>> = { strace: "strace", crun: "crun" };
/** Packages without a program, installed with the tools: this one compiles filters of system calls. */
const modules: readonly string[] = ["python3-seccomp"];

/** Installs the packages that tests use, if this is Debian or Ubuntu and the user is root. `missingTools` reports the rest. */
export async function prepareMachine(): Promise<void> {
  const { system, isRoot } = await readMachineFacts();
  if (!isRoot || (system !== "debian" && system !== "ubuntu")) return;
  const missing = (await missingTools()).flatMap((name) => tools[name] ?? []);
  const packages = [
    ...(await findMissingEnginePackages(process.env)),
    ...(missing.length > 0 ? [...missing, ...modules] : []),
  ];
  if (packages.length === 0) return;
  console.error(`Installing Debian packages for the tests: ${packages.join(", ")}`);
  await installPackages(packages, (step) => console.error(step));
}

/** The reason why no private engine can start here; null if one can. */
export async function engineProblem(): Promise<string | null> {
  const { system, isRoot } = await readMachineFacts();
  if (process.platform !== "linux") return `a private engine needs Linux, this is ${system}`;
  if (!isRoot) return "a private engine needs root";
  const missing = await findMissingEnginePackages(process.env);
  return missing.length === 0 ? null : `${missing.join(", ")} cannot be installed by apt on ${system}`;
}

/** The programs that tests use and this machine lacks. */
export async function missingTools(): Promise<string[]> {
  const names = Object.keys(tools);
  const found = await Promise.all(names.map((name) => findProgram(name, process.env)));
  return names.filter((_, index) => found[index] === null);
}
