import { join } from "node:path";

/** The gateway's folders in the gateway's container. */
export interface GatewayPaths {
  /** The folder of the gateway's private volume. */
  readonly own: string;
  /** The folder of the volume that the gateway shares with the sandboxes, which can only read it. */
  readonly shared: string;
}

export const gatewayPaths: GatewayPaths = { own: "/gw", shared: "/door" };

export const journalPath = ({ own }: GatewayPaths): string => join(own, "journal.ndjson");
/** Returns the path of the Unix socket for the host's messages. */
export const controlSocketPath = ({ own }: GatewayPaths): string => join(own, "control.sock");
/** Returns the path of the Unix socket for sandboxes without a network. */
export const serverSocketPath = ({ shared }: GatewayPaths): string => join(shared, "door.sock");
