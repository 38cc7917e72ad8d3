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
  /** Whether swarm may install missing Debian packages before it starts the engine. */
  readonly mayInstall: boolean;
  readonly onStep: (step: string) => void;
  /** Whether to move the engine's data folder aside and start with empty data. */
  readonly reset: boolean;
  readonly signal?: AbortSignal;
}

/**
 * A container engine that swarm runs for this user alone, independent of all other engines on the machine.
 */
export interface PrivateEngine {
  status(): Promise<PrivateEngineStatus>;
  /**
   * Returns the Debian packages that `start` would install. The result is empty if the engine is running or
   * cannot run on this machine.
   */
  missingPackages(): Promise<readonly string[]>;
  /** Starts the engine, unless it is running. */
  start(options: EngineStartOptions): Promise<PrivateEngineStatus>;
  /** Stops the engine and removes its network bridge; does nothing if the engine is not running. */
  stop(options: { readonly onStep: (step: string) => void }): Promise<PrivateEngineStatus>;
}
