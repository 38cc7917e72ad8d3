import type { HostReached, RefusalReason } from "../../src/contract/gateway.ts";

/** What went through a tunnel, or through a request to a package registry. */
export type HostTraffic = Omit<HostReached, "type" | "worker" | "seq" | "at">;

/** How a worker's tunnel or registry request reports to the gateway's journal, and what ends it. */
export interface AccessReports {
  readonly refuse: (what: string, why: RefusalReason) => void;
  /** Called once, after a connected tunnel has ended or the gateway has forwarded a registry's whole answer. */
  readonly onEnded: (facts: HostTraffic) => void;
  /**
   * Aborts when the host withdraws the worker's permission to use the gateway. The gateway then closes its
   * connections to the sandbox and to the other host.
   */
  readonly signal: AbortSignal;
}
