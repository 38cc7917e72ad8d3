/**
 * The limits on the engine and inside the sandbox that together allow a sandbox a number of processes and
 * threads.
 */
export interface ProcessLimits {
  /** The maximum number of processes and threads of the container, enforced by the machine's kernel. */
  readonly maxPerContainer: number;
  /**
   * The maximum per user inside gVisor. Null without gVisor: the machine's kernel would count a user across
   * all containers.
   */
  readonly maxPerUser: number | null;
  /**
   * The number of processes and threads at which the container counts as exhausted, if the number stays so
   * high.
   */
  readonly exhaustedCount: number;
}

/**
 * gVisor runs as an ordinary program on the host. It needs about eight threads per busy process, more under
 * load, and ends if it gets no further thread.
 */
const threadsEach = 16;
const threadsOfItsOwn = 128;

/**
 * Converts `limits.pids` into limits for a worker, check or sandbox, so that the setting means the same under
 * each runtime.
 */
export function processLimits(runtime: string, pids: number): ProcessLimits {
  if (!isGvisor(runtime)) return { maxPerContainer: pids, maxPerUser: null, exhaustedCount: pids };
  const maxPerContainer = threadsOfItsOwn + threadsEach * pids;
  return { maxPerContainer, maxPerUser: pids, exhaustedCount: maxPerContainer / 2 };
}

/**
 * Whether a container has used up its processes. A tolerance of 2 % covers processes that have just ended.
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
 * Whether a container ended because gVisor did: gVisor is a Go program, and exits with 2 if it gets no more
 * threads.
 */
export function isGvisorKernelExit(runtime: string, exitCode: number | null): boolean {
  return isGvisor(runtime) && exitCode === 2;
}

function isGvisor(runtime: string): boolean {
  return /runsc|gvisor/.test(runtime);
}
