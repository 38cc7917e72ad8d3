import { join } from "node:path";

/** The gateway's two folders in its container. */
export interface GatewayPaths {
  /** The mount point of the volume that only the gateway uses. */
  readonly own: string;
  /**
   * The mount point of the volume that the gateway shares with the sandboxes. The sandboxes can only read the
   * volume.
   */
  readonly shared: string;
}

export const gatewayPaths: GatewayPaths = { own: "/gw", shared: "/door" };

export const journalPath = ({ own }: GatewayPaths): string => join(own, "journal.ndjson");
/** Returns the path of the Unix socket on which the gateway receives the host's messages. */
export const controlSocketPath = ({ own }: GatewayPaths): string => join(own, "control.sock");
/** Returns the path of the Unix socket through which sandboxes without a network reach the gateway. */
export const sandboxSocketPath = ({ shared }: GatewayPaths): string => join(shared, "door.sock");
