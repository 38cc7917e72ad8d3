/**
 * The folders in a worker's sandbox. Only root can access `/aimi` and `/var/lib/aimi`; only the agent's Linux
 * user can access the workspace and the home folder.
 */
export interface SandboxPaths {
  readonly workspace: string;
  readonly home: string;
  /** The mount point of the adapter's volume, which survives the container. */
  readonly aimi: string;
  /**
   * The adapter's folder in the container's writable layer. Like the workspace, this folder is lost when the
   * container is removed.
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
export const acceptedTaskRequestPath = ({ aimi }: SandboxPaths): string => `${aimi}/request.json`;
export const recoveryNotesPath = ({ aimi }: SandboxPaths): string => `${aimi}/notes.json`;
/**
 * Returns the path of a file that only reserves disk space. When the disk is full, the adapter deletes this
 * file, so that it can still write the journal's last messages.
 */
export const diskReserveFilePath = ({ aimi }: SandboxPaths): string => `${aimi}/reserve`;
export const outFolderPath = ({ aimi }: SandboxPaths): string => `${aimi}/out`;
export const supervisorSocketPath = ({ aimi }: SandboxPaths): string => `${aimi}/sock/supervisor`;
