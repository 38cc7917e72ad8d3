import { join } from "node:path";

/** The gateway's folders in its container. */
export interface GatewayPlaces {
  /** The gateway's private volume. */
  readonly own: string;
  /** The volume shared with the sandboxes, read-only for them. */
  readonly door: string;
}

export const places: GatewayPlaces = { own: "/gw", door: "/door" };

export const journalOf = ({ own }: GatewayPlaces): string => join(own, "journal.ndjson");
/** The socket for the host's messages. */
export const controlSocketOf = ({ own }: GatewayPlaces): string => join(own, "control.sock");
/** The socket for sandboxes without a network. */
export const serverSocketOf = ({ door }: GatewayPlaces): string => join(door, "door.sock");
