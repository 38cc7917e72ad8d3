/** Limits for the engine and for the sandbox's kernel that allow a sandbox a number of processes and threads. */
export interface ProcessLimits {
  /** The limit of the machine's kernel, for the whole container. */
  readonly ofContainer: number;
  /** The limit of a sandbox's own kernel per user; null for the machine's kernel, which counts a user across containers. */
  readonly ofUser: number | null;
  /** The count of the container at which its processes are used up, if the count stays so high. */
  readonly full: number;
}

/** gVisor's kernel is a program with some eight threads for each busy process, and more under load; without more it ends. */
const threadsEach = 16;
const threadsOfItsOwn = 128;

/** The limits of workers, checks and sandboxes: `limits.pids` means the same under each runtime. */
export function processLimits(runtime: string, pids: number): ProcessLimits {
  if (!isGvisor(runtime)) return { ofContainer: pids, ofUser: null, full: pids };
  const ofContainer = threadsOfItsOwn + threadsEach * pids;
  return { ofContainer, ofUser: pids, full: ofContainer / 2 };
}

/** Whether the processes are used up, with a tolerance of 2 %, since some may just have ended. */
export function areUsedUp({ now, most }: { readonly now: number; readonly most: number }): boolean {
  return now >= most - Math.ceil(most / 50);
}

/** Whether a container ended because its kernel did: gVisor is a Go program, which exits with 2 if it gets no more threads. */
export function isKernelEnd(runtime: string, exitCode: number | null): boolean {
  return isGvisor(runtime) && exitCode === 2;
}

function isGvisor(runtime: string): boolean {
  return /runsc|gvisor/.test(runtime);
}
