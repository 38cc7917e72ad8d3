/** What the engine and the sandbox's kernel are told, so that a sandbox may have so many processes and threads. */
export interface ProcessLimits {
  /** Counted by the machine's kernel for the whole container. */
  readonly ofContainer: number;
  /** Counted by the sandbox's own kernel for each user; null where it is the machine's, which counts all containers' users as one. */
  readonly ofUser: number | null;
  /** Where the container's count stays as high as this, its processes are used up. */
  readonly full: number;
}

/** gVisor's kernel is a program: for each process that computes it has some eight threads, and more when many do. It ends when it gets no more. */
const threadsEach = 16;
const threadsOfItsOwn = 128;

/** One rule for workers, checks and sandboxes: `limits.pids` means the same under each runtime. */
export function processLimits(runtime: string, pids: number): ProcessLimits {
  if (!isGvisor(runtime)) return { ofContainer: pids, ofUser: null, full: pids };
  const ofContainer = threadsOfItsOwn + threadsEach * pids;
  return { ofContainer, ofUser: pids, full: ofContainer / 2 };
}

/** Whether so many processes are all that there may be: some may just have ended. */
export function areUsedUp({ now, most }: { readonly now: number; readonly most: number }): boolean {
  return now >= most - Math.ceil(most / 50);
}

/** Whether a container without a last word ended because its kernel did: the Go program that gVisor is exits so when it gets no more threads. */
export function isKernelEnd(runtime: string, exitCode: number | null): boolean {
  return isGvisor(runtime) && exitCode === 2;
}

function isGvisor(runtime: string): boolean {
  return /runsc|gvisor/.test(runtime);
}
