// Made from schemas/probe.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * The findings of `adapter probe` about its own container.
 */
export interface Probe {
  readonly kernelRelease: string;
  /**
   * @maxItems 340
   */
  readonly uidMap: readonly UidRange[];
  /**
   * CapEff from /proc, in hexadecimal.
   */
  readonly capabilities: string;
  /**
   * NoNewPrivs from /proc; null when the kernel does not report it.
   */
  readonly noNewPrivileges: boolean | null;
  /**
   * The seccomp mode: 0 off, 1 strict, 2 filter; null when the kernel does not report it.
   */
  readonly seccomp: number | null;
  /**
   * @maxItems 1000
   */
  readonly mountTypes: readonly string[];
  /**
   * The probe's user id.
   */
  readonly userId: number;
  /**
   * Namespaces that the container shares with the host (the kernel's initial ones): ipc, net, pid, uts.
   *
   * @maxItems 10
   */
  readonly sharedNamespaces: readonly string[];
  /**
   * Devices in addition to those of every container.
   *
   * @maxItems 1000
   */
  readonly devices: readonly string[];
  /**
   * Mount points of parts of the host that no container needs.
   *
   * @maxItems 1000
   */
  readonly hostMounts: readonly string[];
  /**
   * Parts of /proc that should be read-only or hidden, and are not.
   *
   * @maxItems 50
   */
  readonly openPaths: readonly string[];
  /**
   * Operations that an agent's tools need, each tried once.
   *
   * @maxItems 50
   */
  readonly steps: readonly ProbeStep[];
}
export interface UidRange {
  readonly inside: number;
  readonly outside: number;
  readonly count: number;
}
export interface ProbeStep {
  readonly step: string;
  readonly error: string | null;
}
