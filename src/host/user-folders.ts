import { homedir } from "node:os";
import { join, resolve } from "node:path";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The folders of this user outside of any project. */
export interface UserFolders {
  /** The folder of the settings that the user writes. */
  readonly config: string;
  /** The folder of the data that swarm stores for the user, such as the trust list and the private engine. */
  readonly state: string;
  readonly home: string;
}

/** Returns the user's folders by the XDG convention. `SWARM_STATE_DIR` moves the state folder elsewhere. */
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
