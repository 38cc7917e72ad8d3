/**
 * The folders of a worker's sandbox. Only root reads and writes below `/aimi` and `/var/lib/aimi`; only the agent's
 * user reads and writes in the workspace and the home folder.
 */
export interface SandboxPaths {
  readonly workspace: string;
  readonly home: string;
  /** The mount point of the adapter's volume, which survives the container. */
  readonly aimi: string;
  /**
   * The adapter's folder in the container's writable layer. Like the workspace, the folder is lost with the
   * container.
   */
  readonly layer: string;
}

export const sandboxPaths: SandboxPaths = {
  workspace: "/workspace",
  home: "/home/agent",
  aimi: "/aimi",
  layer: "/var/lib/aimi",
};

export const journalPath = ({ aimi }: SandboxPaths): string => `${aimi}/journal.ndjson`;
export const acceptedRequestPath = ({ aimi }: SandboxPaths): string => `${aimi}/request.json`;
export const recoveryNotesPath = ({ aimi }: SandboxPaths): string => `${aimi}/notes.json`;
/**
 * The path of a file that reserves disk space: when the disk is full, the journal deletes the file to write the last
 * messages.
 */
export const diskReserveFilePath = ({ aimi }: SandboxPaths): string => `${aimi}/reserve`;
export const outFolderPath = ({ aimi }: SandboxPaths): string => `${aimi}/out`;
export const supervisorSocketPath = ({ aimi }: SandboxPaths): string => `${aimi}/sock/supervisor`;
