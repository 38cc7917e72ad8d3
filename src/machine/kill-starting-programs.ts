import { readdir } from "node:fs/promises";
import { ifSystemError } from "../errors/system-errors.ts";
import { findProcesses, readProcFile } from "./processes.ts";

/** Matches the program names of the container runtimes runc, crun, runsc and sysbox-runc. */
const runtimes: RegExp = /run/;

/**
 * Kills the processes of container runtimes on this machine that are starting a program in the given
 * container; the container itself keeps running. With `onlyFrozen`, spares a runtime whose new program is not
 * frozen. Returns the number of killed processes, which is 0 if the engine runs on another machine or as
 * another user.
 */
export async function killStartingPrograms(
  containerId: string,
  { onlyFrozen }: { readonly onlyFrozen: boolean },
): Promise<number> {
  if (process.platform !== "linux") return 0;
  const pids = await findProcesses(runtimes, (argv) => isRuntimeExecInto(argv, containerId));
  const frozen = await Promise.all(pids.map((pid) => !onlyFrozen || hasFrozenChild(pid)));
  return pids.filter((_, index) => frozen[index]).filter(end).length;
}

async function hasFrozenChild(pid: number): Promise<boolean> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const texts = await Promise.all(
    threads.map((thread) => readProcFile(`/proc/${pid}/task/${thread}/children`)),
  );
  const children = texts.flatMap((text) => text.split(" ").filter(Boolean));
  return (await Promise.all(children.map(isFrozen))).includes(true);
}

async function isFrozen(pid: string): Promise<boolean> {
  const files = freezerFilesOf(await readProcFile(`/proc/${pid}/cgroup`));
  const states = await Promise.all(files.map(readProcFile));
  return states.some((state) => /^(?:FROZEN|frozen 1)$/m.test(state));
}

/** Returns the files that say whether a process is frozen, given the content of its `/proc/<pid>/cgroup`. */
export function freezerFilesOf(cgroups: string): string[] {
  return [...cgroups.matchAll(/^\d+:([^:]*):(.*)$/gm)].flatMap(([, controllers = "", path = ""]) => {
    if (controllers === "") return [`/sys/fs/cgroup${path}/cgroup.events`];
    return controllers.split(",").includes("freezer") ? [`/sys/fs/cgroup/freezer${path}/freezer.state`] : [];
  });
}

/**
 * Returns whether these are the arguments of a container runtime's `exec` into the given container: `runc …
 * exec --process <file> … <container>`.
 */
export function isRuntimeExecInto(argv: readonly string[], containerId: string): boolean {
  const words = argv.filter((word) => word !== "");
  return words.at(-1) === containerId && words[words.indexOf("--process") - 1] === "exec";
}

function end(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch (error) {
    return ifSystemError(false, "ESRCH", "EPERM")(error);
  }
}
