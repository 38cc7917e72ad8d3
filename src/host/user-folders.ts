import { homedir } from "node:os";
import { join, resolve } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where this user's things live, outside any project. */
export interface UserFolders {
  /** Settings that a person writes. */
  readonly config: string;
  /** What the program keeps: trust, the private engine. */
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
