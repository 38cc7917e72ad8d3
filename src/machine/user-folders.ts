import { homedir } from "node:os";
import { join, resolve } from "node:path";

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

/** The user's folders that swarm uses outside of any project. */
export interface UserFolders {
  /** The folder of the user's own settings files for swarm. */
  readonly config: string;
  /**
   * The folder in which swarm stores the user's data, such as the list of trusted files and the private
   * container engine.
   */
  readonly state: string;
  readonly home: string;
}

/**
 * Returns the user's folders by the XDG convention. The environment variable `SWARM_STATE_DIR` overrides the
 * state folder.
 */
export function userFolders(env: EnvironmentVariables): UserFolders {
  const home = env["HOME"] || homedir();
  return {
    home,
    config: join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "aimi"),
    state: env["SWARM_STATE_DIR"]
      ? resolve(env["SWARM_STATE_DIR"])
      : join(env["XDG_STATE_HOME"] || join(home, ".local", "state"), "aimi"),
  };
}
