/** The seccomp filter that an engine applies by default, as the engine reports it. */
export interface EngineSystemCallFilter {
  readonly architecture: string;
  /**
   * The filter's name: `default`, `builtin` or `unconfined`, or the file that the engine's administrator
   * chose. Null if the engine does not filter system calls.
   */
  readonly profile: string | null;
  readonly isPodman: boolean;
}

/** The system-call filter (seccomp) that a container gets: swarm's own filter, or the engine's filter. */
export type SystemCallFilter =
  | { readonly kind: "ours" }
  | {
      readonly kind: "engine";
      /** The reason why the container does not get swarm's own filter. */
      readonly why: string;
      /** Whether the engine's filter protects as well as swarm's own filter would under this runtime. */
      readonly isEnough: boolean;
    };

/**
 * The runtimes under which the host's kernel applies swarm's filter to a container. Under other runtimes,
 * such as gVisor, the container has its own kernel.
 */
const runtimesThatApplyIt: readonly string[] = ["runc", "crun"];
const compiledFor: readonly string[] = ["x86_64", "amd64", "aarch64", "arm64"];
const builtIn: readonly string[] = ["default", "builtin", "unconfined"];

/**
 * Chooses swarm's own filter if the engine and the runtime can apply it, and if the engine's administrator
 * has not configured another filter. Otherwise, chooses the engine's filter.
 */
export function chooseSystemCallFilter(engine: EngineSystemCallFilter, runtime: string): SystemCallFilter {
  const { architecture, profile, isPodman } = engine;
  const keep = (why: string, isEnough: boolean): SystemCallFilter => ({ kind: "engine", why, isEnough });
  if (!runtimesThatApplyIt.includes(runtime))
    return keep("swarm's own filter works only with runc and crun", true);
  if (isPodman) return keep("Podman does not accept an inline seccomp profile", false);
  if (profile === null) return keep("this engine does not filter system calls", false);
  if (!builtIn.includes(profile)) return keep(`the engine's administrator chose the filter ${profile}`, true);
  if (!compiledFor.includes(architecture))
    return keep(`swarm's own filter does not support the CPU architecture ${architecture}`, false);
  return { kind: "ours" };
}

/** Describes a container's system-call filter in a few words. */
export function describeSystemCallFilter(
  filter: SystemCallFilter,
  { programs32Bit = false }: { readonly programs32Bit?: boolean } = {},
): string {
  if (filter.kind === "engine") return `the engine's own filter: ${filter.why}`;
  return programs32Bit
    ? "swarm's own filter, with sockets of every address family allowed for 32-bit programs"
    : "swarm's own filter";
}
