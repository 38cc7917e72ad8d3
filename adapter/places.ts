/** Where things lie in a worker's sandbox. Only root reads and writes below `/aimi` and `/var/lib/aimi`; only the agent's user in the others. */
export interface Places {
  readonly workspace: string;
  readonly home: string;
  /** A volume: survives the container. */
  readonly aimi: string;
  /** In the container's own layer, as the workspace is: lost with it. */
  readonly layer: string;
}

export const places: Places = {
  workspace: "/workspace",
  home: "/home/agent",
  aimi: "/aimi",
  layer: "/var/lib/aimi",
};

export const journalOf = ({ aimi }: Places): string => `${aimi}/journal.ndjson`;
export const requestOf = ({ aimi }: Places): string => `${aimi}/request.json`;
export const notesOf = ({ aimi }: Places): string => `${aimi}/notes.json`;
/** Removed to write the last messages when the disk is full. */
export const reserveOf = ({ aimi }: Places): string => `${aimi}/reserve`;
export const outOf = ({ aimi }: Places): string => `${aimi}/out`;
export const socketOf = ({ aimi }: Places): string => `${aimi}/sock/supervisor`;
