/**
 * The limits with which swarm enforces the setting `limits.pids`: one limit for the sandbox's container, one
 * inside gVisor.
 */
export interface ProcessLimits {
  /**
   * The maximum number of processes and threads of the container, enforced by the kernel of the engine's
   * host.
   */
  readonly maxPerContainer: number;
  /**
   * The maximum number of processes and threads of one user inside gVisor. Null without gVisor: there, the
   * host's kernel would count the user's processes of all containers together.
   */
  readonly maxPerUser: number | null;
  /**
   * The number of processes and threads from which swarm considers the container's limit exhausted. A short
   * peak does not count.
   */
  readonly exhaustedCount: number;
}

/**
 * The number of the host's threads to allow per process inside gVisor. gVisor needs about eight threads for a
 * busy process, more under load, and exits if it cannot create a thread.
 */
const threadsEach = 16;
const threadsOfItsOwn = 128;

/**
 * Converts the setting `limits.pids` into limits for a sandbox with this container runtime. Under each
 * runtime, the setting has the same effect.
 */
export function processLimits(runtime: string, pids: number): ProcessLimits {
  if (!isGvisor(runtime)) return { maxPerContainer: pids, maxPerUser: null, exhaustedCount: pids };
  const maxPerContainer = threadsOfItsOwn + threadsEach * pids;
  return { maxPerContainer, maxPerUser: pids, exhaustedCount: maxPerContainer / 2 };
}

/**
 * Whether the container's number of processes (`now`) has reached its limit (`most`). A number up to 2 %
 * below the limit counts, because some processes may have just ended.
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
 * Whether the container ended because gVisor itself crashed. gVisor is a Go program, which exits with 2 if it
 * cannot create a thread.
 */
export function isGvisorCrash(runtime: string, exitCode: number | null): boolean {
  return isGvisor(runtime) && exitCode === 2;
}

function isGvisor(runtime: string): boolean {
  return /runsc|gvisor/.test(runtime);
}
