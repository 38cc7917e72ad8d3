import { join } from "node:path";

/** The gateway's folders in its container. */
export interface GatewayPaths {
  /** The gateway's private volume. */
  readonly own: string;
  /** The volume shared with the sandboxes, read-only for them. */
  readonly shared: string;
}

export const gatewayPaths: GatewayPaths = { own: "/gw", shared: "/door" };

export const journalOf = ({ own }: GatewayPaths): string => join(own, "journal.ndjson");
/** The socket for the host's messages. */
export const controlSocketOf = ({ own }: GatewayPaths): string => join(own, "control.sock");
/** The socket for sandboxes without a network. */
export const serverSocketOf = ({ shared }: GatewayPaths): string => join(shared, "door.sock");
