/** The status of the private engine. */
export interface PrivateEngineStatus {
  readonly state: "running" | "stopped" | "unsupported";
  readonly endpoint: string;
  readonly folder: string;
  readonly log: string;
  readonly pid: number | null;
  readonly runtimes: readonly string[];
  /** Why it cannot run here; null when it can. */
  readonly reason: string | null;
}

export interface StartOptions {
  /** Whether the start may install missing packages. */
  readonly mayInstall: boolean;
  readonly onStep: (step: string) => void;
  /** Whether to move data aside with which the engine cannot start. */
  readonly reset: boolean;
  readonly signal?: AbortSignal;
}

/** A container engine of this user, independent of any other on the machine. */
export interface PrivateEngine {
  status(): Promise<PrivateEngineStatus>;
  /** The packages that a start would install; none if the engine runs or cannot run here. */
  missingPackages(): Promise<readonly string[]>;
  /** Starts the engine, unless it is running. */
  start(options: StartOptions): Promise<PrivateEngineStatus>;
  /** Stops the engine and removes its network; does nothing if it is not running. */
  stop(options: { readonly onStep: (step: string) => void }): Promise<PrivateEngineStatus>;
}
