import { homedir } from "node:os";
import { join, resolve } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Folders of this user, outside of any project. */
export interface UserFolders {
  /** Folder of the settings that the user writes. */
  readonly config: string;
  /** Folder of the data that swarm keeps: trust, the private engine. */
  readonly state: string;
  readonly home: string;
}

/** The folders of the XDG convention; `SWARM_STATE_DIR` moves the state elsewhere. */
export function userFolders(env: Environment): UserFolders {
  const home = env["HOME"] || homedir();
  return {
    home,
    config: join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "aimi"),
    state: env["SWARM_STATE_DIR"]
      ? resolve(env["SWARM_STATE_DIR"])
      : join(env["XDG_STATE_HOME"] || join(home, ".local", "state"), "aimi"),
  };
}
