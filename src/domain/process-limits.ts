/** The limits that together implement `limits.pids` for a sandbox: on its container, and inside gVisor. */
export interface ProcessLimits {
  /**
   * The maximum number of processes and threads of the container, enforced by the kernel of the engine's
   * host.
   */
  readonly maxPerContainer: number;
  /**
   * The maximum number of processes and threads per user inside gVisor. Null without gVisor, because the
   * host's kernel would count a user's processes across all containers.
   */
  readonly maxPerUser: number | null;
  /**
   * The number of processes and threads from which on the container counts as exhausted. A short peak does
   * not count.
   */
  readonly exhaustedCount: number;
}

/**
 * The number of host threads to allow for each process in gVisor. gVisor needs about eight threads per busy
 * process, more under load, and ends if it cannot create a thread.
 */
const threadsEach = 16;
const threadsOfItsOwn = 128;

/**
 * Converts `limits.pids` into the limits of a sandbox, so that the setting has the same effect under each
 * runtime.
 */
export function processLimits(runtime: string, pids: number): ProcessLimits {
  if (!isGvisor(runtime)) return { maxPerContainer: pids, maxPerUser: null, exhaustedCount: pids };
  const maxPerContainer = threadsOfItsOwn + threadsEach * pids;
  return { maxPerContainer, maxPerUser: pids, exhaustedCount: maxPerContainer / 2 };
}

/**
 * Whether a container has used up its processes. The number may be up to 2 % below the limit, because some
 * processes may have just ended.
 */
export function areProcessesExhausted({
  now,
  most,
}: {
  readonly now: number;
  readonly most: number;
}): boolean {
  return now >= most - Math.ceil(most / 50);
}

/**
 * Whether a container ended because gVisor crashed. gVisor is a Go program, which exits with 2 if it cannot
 * create a thread.
 */
export function isGvisorCrash(runtime: string, exitCode: number | null): boolean {
  return isGvisor(runtime) && exitCode === 2;
}

function isGvisor(runtime: string): boolean {
  return /runsc|gvisor/.test(runtime);
}
