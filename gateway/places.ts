import { join } from "node:path";

/** Where the gateway keeps and finds things in its container. */
export interface GatewayPlaces {
  /** A volume of its own. */
  readonly own: string;
  /** A volume that the sandboxes see, too: they can read it and no more. */
  readonly door: string;
}

export const places: GatewayPlaces = { own: "/gw", door: "/door" };

export const journalOf = ({ own }: GatewayPlaces): string => join(own, "journal.ndjson");
/** Where the host's messages come in. */
export const controlSocketOf = ({ own }: GatewayPlaces): string => join(own, "control.sock");
/** Where sandboxes knock that have no network. */
export const doorSocketOf = ({ door }: GatewayPlaces): string => join(door, "door.sock");
