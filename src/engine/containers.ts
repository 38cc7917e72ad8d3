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
  /**
   * The maximum number of files in the sandbox. No engine enforces this limit, so swarm counts the files
   * itself.
   */
  readonly files: number;
  readonly logBytes: number;
  /**
   * Whether the system-call filter lets 32-bit programs open sockets. For 32-bit programs, no filter can
   * restrict sockets to certain address families.
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
      /** The container's IP address in the network; if absent, the engine chooses an address. */
      readonly address?: string;
    };

/**
 * The Linux capabilities that swarm may give to the supervisor in a sandbox. Agents never have capabilities.
 */
export type Capability = "SETUID" | "SETGID" | "KILL";

/**
 * The specification of a container to create. If the engine cannot apply one of the values, `create` throws
 * an error.
 */
export interface ContainerSpec {
  /**
   * The container's name. If a container with this name and these labels already exists, `create` returns it.
   */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly image: string;
  readonly command: readonly string[];
  /** The complete environment of the container, which inherits no other variables. */
  readonly env: Readonly<Record<string, string>>;
  readonly user: "0:0" | "1000:1000";
  readonly workdir: string;
  readonly runtime: string;
  readonly network: ContainerNetwork;
  readonly limits: ContainerLimits;
  readonly capabilities: readonly Capability[];
  readonly readOnlyRoot: boolean;
  /**
   * Whether the container runs in privileged mode (`docker run --privileged`). No other field disables the
   * container's isolation.
   */
  readonly privileged: boolean;
  /** The maximum size of `/tmp` in bytes. `/tmp` is a tmpfs and so uses memory. */
  readonly tmpBytes: number;
  readonly volumes: readonly VolumeMount[];
  /** The IP address of the container's only DNS server; if absent, the engine chooses the servers. */
  readonly nameServer?: string;
}

export interface VolumeMount {
  readonly name: string;
  readonly path: string;
  readonly readOnly?: boolean;
}

/** The container that `create` returns. */
export interface CreatedContainer {
  readonly id: string;
  /**
   * `enforced` means that the engine's storage driver enforces the disk limit. `watched` means that the
   * storage driver cannot enforce the limit, so the caller must monitor the disk usage.
   */
  readonly diskLimit: "enforced" | "watched";
}

/** The properties and the state of a container, as the engine reports them. */
export interface ContainerFacts {
  readonly id: string;
  readonly name: string;
  readonly imageId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly state: "created" | "running" | "paused" | "restarting" | "removing" | "exited" | "dead";
  /** The exit code of the container's main process; null until the container has ended. */
  readonly exitCode: number | null;
  readonly memoryExhausted: boolean;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /**
   * The size of the container's writable layer in bytes. Null if the caller did not request the size, or if
   * the engine does not know it.
   */
  readonly diskBytes: number | null;
}

export interface ExecSpec {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly workdir?: string;
  readonly user?: "0:0" | "1000:1000";
  /**
   * Whether the caller writes to the program's stdin. If false, the program reads end-of-file from stdin at
   * once.
   */
  readonly input: boolean;
}

export interface OutputChunk {
  readonly stream: "stdout" | "stderr";
  readonly bytes: Uint8Array;
}

/**
 * How a program in a container ended. `lost` means that the connection to the engine broke: the exit code is
 * unknown, and the program may still run.
 */
export type ExecExit =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "lost"; readonly reason: string };

/** A program that swarm started in a running container with `exec`. */
export interface ContainerExecution extends AsyncDisposable {
  readonly id: string;
  /** Writes to the program's stdin. Resolves when the engine has accepted the bytes. */
  write(bytes: Uint8Array): Promise<void>;
  endInput(): Promise<void>;
  /**
   * The chunks of the program's stdout and stderr, in order. If the caller reads slowly, back-pressure slows
   * the program down.
   */
  readonly output: AsyncIterable<OutputChunk>;
  /** Returns how the program ended. Call this method only after `output` has ended. */
  exit(): Promise<ExecExit>;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** A program to run in a container with a terminal of the given size. */
export interface TerminalSpec extends Omit<ExecSpec, "input">, TerminalSize {}

/** A program in a running container whose stdin, stdout and stderr are a terminal. */
export interface TerminalSession extends AsyncDisposable {
  /** Writes the user's input to the terminal. Resolves when the engine has accepted the bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** The terminal's output, in the order in which the program writes it. */
  readonly output: AsyncIterable<Uint8Array>;
  resize(size: TerminalSize): Promise<void>;
  /** Returns how the program ended. Call this method only after `output` has ended. */
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
 * An event of the engine: the state of a container may have changed. The caller must then inspect the
 * container.
 */
export interface ContainerEvent {
  readonly containerId: string;
  readonly name: string;
  readonly action: string;
}

/**
 * Manages the containers of an engine. The parameter `id` can be a container's full ID, the first twelve
 * characters of its ID, or its name.
 */
export interface Containers {
  /**
   * Creates a container, or returns the existing container with this name and these labels. If the engine
   * gives the container weaker isolation than the spec requests, removes the container and throws
   * CONTAINER_REFUSED.
   */
  create(spec: ContainerSpec, signal?: AbortSignal): Promise<CreatedContainer>;
  /**
   * Starts a container. Per engine CPU, at most two starts or creations run at once; if more are waiting,
   * starts go first.
   */
  start(id: string, signal?: AbortSignal): Promise<void>;
  stop(id: string, options: { readonly graceMs: number }, signal?: AbortSignal): Promise<void>;
  /**
   * Pauses a container. First waits until no `exec` is starting a program in the container, because the
   * engine might otherwise never be able to unpause the container.
   */
  pause(id: string, signal?: AbortSignal): Promise<void>;
  /**
   * Unpauses a container; does nothing if the container is not paused. Throws CONTAINER_STUCK if the engine
   * cannot unpause the container.
   */
  unpause(id: string, signal?: AbortSignal): Promise<void>;
  /** Removes a container and its anonymous volumes; does nothing if the container does not exist. */
  remove(id: string, signal?: AbortSignal): Promise<void>;
  /** Returns the properties and the state of a container; null if the container does not exist. */
  inspect(
    id: string,
    options?: { readonly withDisk: boolean },
    signal?: AbortSignal,
  ): Promise<ContainerFacts | null>;
  exec(id: string, spec: ExecSpec, signal?: AbortSignal): Promise<ContainerExecution>;
  openTerminal(id: string, spec: TerminalSpec, signal?: AbortSignal): Promise<TerminalSession>;
  /**
   * Unpacks a tar stream into a container, which must not be running. For a running container, use `exec`
   * with `tar`.
   */
  copyIn(id: string, path: string, archive: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>;
  /**
   * Returns a file or a folder of a container as a tar stream. The container must not be running. The stream
   * is untrusted, because programs in the container wrote the files.
   */
  copyOut(id: string, path: string, signal?: AbortSignal): AsyncIterable<Uint8Array>;
  /** Streams the output of the container's main process. */
  logs(id: string, options: { readonly follow: boolean }, signal?: AbortSignal): AsyncIterable<OutputChunk>;
  stats(id: string, signal?: AbortSignal): Promise<ContainerStats>;
  /**
   * Creates an image from the container's writable layer, and returns the image's ID. Throws
   * UNSUPPORTED_BY_ENGINE if the container's runtime hides file changes from the engine.
   */
  commit(
    id: string,
    options: { readonly tag: string; readonly labels: Readonly<Record<string, string>> },
    signal?: AbortSignal,
  ): Promise<string>;
  /** Yields the engine's events for containers with these labels, until the signal aborts. */
  events(labels: Readonly<Record<string, string>>, signal: AbortSignal): AsyncIterable<ContainerEvent>;
}
