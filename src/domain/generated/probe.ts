// Made from schemas/probe.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * What `adapter probe` saw of its own container.
 */
export interface Probe {
  readonly kernelRelease: string;
  /**
   * @maxItems 340
   */
  readonly uidMap: readonly UidRange[];
  /**
   * CapEff as it stands in /proc, hexadecimal.
   */
  readonly capabilities: string;
  /**
   * null where the kernel does not say.
   */
  readonly noNewPrivileges: boolean | null;
  /**
   * 0 off, 1 strict, 2 filter; null where the kernel does not say.
   */
  readonly seccomp: number | null;
  /**
   * @maxItems 1000
   */
  readonly mountTypes: readonly string[];
  /**
   * The user id that the probe has.
   */
  readonly userId: number;
  /**
   * Namespaces that are the kernel's first ones, so the host's own: ipc, net, pid, uts.
   *
   * @maxItems 10
   */
  readonly sharedNamespaces: readonly string[];
  /**
   * Devices beyond those that every container has.
   *
   * @maxItems 1000
   */
  readonly devices: readonly string[];
  /**
   * Where something of the host is mounted that no container needs.
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
   * What an agent's tools need to do, each done once.
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
