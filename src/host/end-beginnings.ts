import { findProcesses } from "./processes.ts";

/** Matches the program names of the container runtimes runc, crun, runsc and sysbox-runc. */
const runtimes: RegExp = /run/;

/**
 * Kills the processes of container runtimes on this machine that are starting a program in the given
 * container; the container itself keeps running. Returns the number of killed processes, which is 0 if the
 * engine runs on another machine or as another user.
 */
export async function killStartingPrograms(containerId: string): Promise<number> {
  if (process.platform !== "linux") return 0;
  const pids = await findProcesses(runtimes, (argv) => isRuntimeExecInto(argv, containerId));
  return pids.filter(end).length;
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
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ESRCH" || code === "EPERM") return false;
    throw error;
  }
}
