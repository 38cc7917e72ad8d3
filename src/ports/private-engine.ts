/** The status of the private container engine that swarm installs for a user. */
export interface PrivateEngineStatus {
  readonly state: "running" | "stopped" | "unsupported";
  readonly endpoint: string;
  readonly folder: string;
  readonly log: string;
  readonly pid: number | null;
  readonly runtimes: readonly string[];
  /** The reason why the private engine cannot run on this machine; null if it can. */
  readonly reason: string | null;
}

export interface EngineStartOptions {
  /** Whether the start may install missing Debian packages. */
  readonly mayInstall: boolean;
  readonly onStep: (step: string) => void;
  /** Whether to move the engine's data aside and start with an empty engine. */
  readonly reset: boolean;
  readonly signal?: AbortSignal;
}

/**
 * A container engine that belongs to this user alone and is independent of all other engines on the machine.
 */
export interface PrivateEngine {
  status(): Promise<PrivateEngineStatus>;
  /**
   * Returns the packages that a start would install; empty if the engine runs already or cannot run on this
   * machine.
   */
  missingPackages(): Promise<readonly string[]>;
  /** Starts the engine, unless it is running. */
  start(options: EngineStartOptions): Promise<PrivateEngineStatus>;
  /** Stops the engine and removes its network; does nothing if the engine is not running. */
  stop(options: { readonly onStep: (step: string) => void }): Promise<PrivateEngineStatus>;
}
