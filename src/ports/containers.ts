/** The resource limits of one sandbox. */
export interface ContainerLimits {
  readonly cpus: number;
  readonly memoryBytes: number;
  /** The swap that the sandbox may use in addition to its memory, in bytes. */
  readonly swapBytes: number;
  readonly pids: number;
  /** The maximum number of open files of one process. */
  readonly descriptors: number;
  readonly diskBytes: number;
  /** The maximum number of files. No engine enforces this limit, so swarm watches the number. */
  readonly files: number;
  readonly logBytes: number;
  /**
   * Whether 32-bit programs may open sockets. No system-call filter can limit their sockets to certain
   * address families.
   */
  readonly programs32Bit?: boolean;
}

export type ContainerNetwork =
  | { readonly kind: "none" }
  /** The engine's default network, with internet access. */
  | { readonly kind: "bridge" }
  /** The host's own network, without isolation. */
  | { readonly kind: "host" }
  | {
      readonly kind: "named";
      readonly name: string;
      /** The container's address in the network; if absent, the engine chooses one. */
      readonly address?: string;
    };

/** The Linux capabilities that a sandbox's supervisor can need. An agent has none. */
export type Capability = "SETUID" | "SETGID" | "KILL";

/**
 * The specification of a container to make. `create` throws if the engine cannot honour a value, and never
 * ignores a value.
 */
export interface ContainerSpec {
  /**
   * The container's name. If a container with the same name and labels exists, `create` returns that
   * container.
   */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly image: string;
  readonly command: readonly string[];
  /** The container's complete environment; the container inherits no other variables. */
  readonly env: Readonly<Record<string, string>>;
  readonly user: "0:0" | "1000:1000";
  readonly workdir: string;
  readonly runtime: string;
  readonly network: ContainerNetwork;
  readonly limits: ContainerLimits;
  readonly capabilities: readonly Capability[];
  readonly readOnlyRoot: boolean;
  /** Whether the container gets all privileges of the host. No other field turns the protection off. */
  readonly privileged: boolean;
  /** The size of `/tmp` in bytes. `/tmp` is in memory. */
  readonly tmpBytes: number;
  readonly volumes: readonly VolumeMount[];
  /** The container's only DNS server; if absent, the engine chooses. */
  readonly nameServer?: string;
}

export interface VolumeMount {
  readonly name: string;
  readonly path: string;
  readonly readOnly?: boolean;
}

/** The container that the engine made from a `ContainerSpec`. */
export interface CreatedContainer {
  readonly id: string;
  /**
   * `enforced`: the storage driver enforces the disk limit. `watched`: the storage driver cannot enforce a
   * limit, so the caller must watch the disk usage.
   */
  readonly diskLimit: "enforced" | "watched";
}

/** The facts about a container that the engine reports if swarm inspects the container. */
export interface ContainerFacts {
  readonly id: string;
  readonly name: string;
  readonly imageId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly state: "created" | "running" | "paused" | "restarting" | "removing" | "exited" | "dead";
  /** The exit code of the main process; null until the container has ended. */
  readonly exitCode: number | null;
  readonly memoryExhausted: boolean;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /**
   * The size of the container's writable layer in bytes; null if the caller did not ask for it or the engine
   * does not know.
   */
  readonly diskBytes: number | null;
}

export interface ExecSpec {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly workdir?: string;
  readonly user?: "0:0" | "1000:1000";
  /**
   * Whether the caller writes to the program's stdin. If false, the program reads the end of its input at
   * once.
   */
  readonly input: boolean;
}

export interface OutputChunk {
  readonly stream: "stdout" | "stderr";
  readonly bytes: Uint8Array;
}

/**
 * The end of a program in a container. `lost`: the output stream broke off, so the exit code is unknown and
 * the program may still run.
 */
export type ExecExit =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "lost"; readonly reason: string };

/** A program that swarm started in a running container. */
export interface Execution extends AsyncDisposable {
  readonly id: string;
  /** Writes to the program's stdin; resolves when the engine has accepted the bytes. */
  write(bytes: Uint8Array): Promise<void>;
  endInput(): Promise<void>;
  /** The program's output, in order, with back-pressure: a slow reader slows the program down. */
  readonly output: AsyncIterable<OutputChunk>;
  /** Returns how the program ended. Call it only after `output` has ended. */
  exit(): Promise<ExecExit>;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** A program to run on a terminal in a container, and the terminal's size. */
export interface TerminalSpec extends Omit<ExecSpec, "input">, TerminalSize {}

/** A program in a running container whose stdin, stdout and stderr are one terminal. */
export interface TerminalSession extends AsyncDisposable {
  /** Writes the user's input to the terminal; resolves when the engine has accepted the bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** The terminal's output, in the order in which the program writes it. */
  readonly output: AsyncIterable<Uint8Array>;
  resize(size: TerminalSize): Promise<void>;
  /** Returns how the program ended. Call it only after `output` has ended. */
  exit(): Promise<ExecExit>;
}

export interface ContainerStats {
  readonly cpuPercent: number;
  readonly memoryBytes: number;
  readonly memoryLimitBytes: number;
  readonly pids: number;
  readonly networkInBytes: number;
  readonly networkOutBytes: number;
}

/**
 * A hint that a container may have changed. The caller must ask the engine for the container's real state.
 */
export interface ContainerEvent {
  readonly containerId: string;
  readonly name: string;
  readonly action: string;
}

/**
 * The containers of an engine. The parameter `id` may be the full ID, its first twelve characters, or the
 * container's name.
 */
export interface Containers {
  /**
   * Makes a container, or finds the existing one with this name and these labels. If the engine gives the
   * container weaker protection than the spec requests, removes the container and throws CONTAINER_REFUSED.
   */
  create(spec: ContainerSpec, signal?: AbortSignal): Promise<CreatedContainer>;
  /**
   * Starts a container. At most two starts or creations per CPU run at once. Waiting starts come before
   * waiting creations.
   */
  start(id: string, signal?: AbortSignal): Promise<void>;
  stop(id: string, options: { readonly graceMs: number }, signal?: AbortSignal): Promise<void>;
  /**
   * Pauses a container. Waits first until no `exec` into the container is starting: otherwise, the engine
   * could never unpause the container.
   */
  pause(id: string, signal?: AbortSignal): Promise<void>;
  /**
   * Unpauses a container; does nothing if it is not paused. Throws CONTAINER_STUCK if the engine cannot
   * unpause it.
   */
  unpause(id: string, signal?: AbortSignal): Promise<void>;
  /** Removes a container with its anonymous volumes; does nothing if it does not exist. */
  remove(id: string, signal?: AbortSignal): Promise<void>;
  /** Returns the facts about a container; null if it does not exist. */
  inspect(
    id: string,
    options?: { readonly withDisk: boolean },
    signal?: AbortSignal,
  ): Promise<ContainerFacts | null>;
  exec(id: string, spec: ExecSpec, signal?: AbortSignal): Promise<Execution>;
  openTerminal(id: string, spec: TerminalSpec, signal?: AbortSignal): Promise<TerminalSession>;
  /** Unpacks a tar stream into a container that is not running. For a running container, use `exec`. */
  copyIn(id: string, path: string, archive: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>;
  /**
   * Returns a file or a folder of a container as a tar stream; the container must not be running. The
   * stream's content is untrusted and unchecked.
   */
  copyOut(id: string, path: string, signal?: AbortSignal): AsyncIterable<Uint8Array>;
  /** Streams the output of the container's main process. */
  logs(id: string, options: { readonly follow: boolean }, signal?: AbortSignal): AsyncIterable<OutputChunk>;
  stats(id: string, signal?: AbortSignal): Promise<ContainerStats>;
  /**
   * Makes an image from the container's writable layer. Throws UNSUPPORTED_BY_ENGINE if the runtime hides the
   * changes from the engine.
   */
  commit(
    id: string,
    options: { readonly tag: string; readonly labels: Readonly<Record<string, string>> },
    signal?: AbortSignal,
  ): Promise<string>;
  /** Yields events of containers with these labels until the signal aborts. */
  events(labels: Readonly<Record<string, string>>, signal: AbortSignal): AsyncIterable<ContainerEvent>;
}
