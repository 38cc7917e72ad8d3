import { findProcesses } from "./processes.ts";

/** runc, crun, runsc, sysbox-runc. */
const runtimes: RegExp = /run/;

/**
 * Ends what an engine of this machine is just beginning in a container: the runtime that waits for the program, not the
 * container. How many; none where the engine is elsewhere or belongs to another user.
 */
export async function endBeginnings(containerId: string): Promise<number> {
  if (process.platform !== "linux") return 0;
  const pids = await findProcesses(runtimes, (argv) => isBeginning(argv, containerId));
  return pids.filter(end).length;
}

/** As containerd calls every runtime: `runc … exec --process <file> … <container>`. */
export function isBeginning(argv: readonly string[], containerId: string): boolean {
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
