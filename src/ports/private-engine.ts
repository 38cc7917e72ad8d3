/** What the private engine is doing. */
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
  /** Whether the packages that are missing may be installed. */
  readonly mayInstall: boolean;
  readonly onStep: (step: string) => void;
  /** Moves data aside that the engine cannot start with. */
  readonly reset: boolean;
  readonly signal?: AbortSignal;
}

/** A container engine of this user's own, beside any other one on the machine. */
export interface PrivateEngine {
  status(): Promise<PrivateEngineStatus>;
  /** The packages that a start would have to install; none where it runs, or cannot run at all. */
  missingPackages(): Promise<readonly string[]>;
  /** Starts it, or finds it running. */
  start(options: StartOptions): Promise<PrivateEngineStatus>;
  /** Stops it and takes its network away; nothing to stop is fine. */
  stop(options: { readonly onStep: (step: string) => void }): Promise<PrivateEngineStatus>;
}
