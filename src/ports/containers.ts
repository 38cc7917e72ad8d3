/** The limits of one sandbox. */
export interface ContainerLimits {
  readonly cpus: number;
  readonly memoryBytes: number;
  /** Swap on top of memory. */
  readonly swapBytes: number;
  readonly pids: number;
  /** Open files of one process. */
  readonly descriptors: number;
  readonly diskBytes: number;
  /** Maximum number of files. No engine limits these, so swarm watches them. */
  readonly files: number;
  readonly logBytes: number;
  /** Whether 32-bit programs may open sockets, of every family, since no filter can tell the family apart. */
  readonly programs32Bit?: boolean;
}

export type ContainerNetwork =
  | { readonly kind: "none" }
  /** The engine's own network, with internet access. */
  | { readonly kind: "bridge" }
  /** The host's own network, without any isolation. */
  | { readonly kind: "host" }
  | {
      readonly kind: "named";
      readonly name: string;
      /** The container's address in the network; the engine chooses it by default. */
      readonly address?: string;
    };

/** The capabilities that a supervisor can need; an agent has none. */
export type Capability = "SETUID" | "SETGID" | "KILL";

/** The specification of a container. A value that an engine cannot honour is an error, never ignored in silence. */
export interface ContainerSpec {
  /** The key of the container: the same name with the same labels is the same container. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly image: string;
  readonly command: readonly string[];
  /** The whole environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly user: "0:0" | "1000:1000";
  readonly workdir: string;
  readonly runtime: string;
  readonly network: ContainerNetwork;
  readonly limits: ContainerLimits;
  readonly capabilities: readonly Capability[];
  readonly readOnlyRoot: boolean;
  /** Whether the container has all privileges: the only way to switch protection off. */
  readonly privileged: boolean;
  /** Size of `/tmp`, which lies in memory. */
  readonly tmpBytes: number;
  readonly volumes: readonly VolumeMount[];
  /** The only DNS server; the engine's choice by default. */
  readonly nameServer?: string;
}

export interface VolumeMount {
  readonly name: string;
  readonly path: string;
  readonly readOnly?: boolean;
}

/** The container that the engine made from a spec. */
export interface CreatedContainer {
  readonly id: string;
  /** `watched`: the storage driver cannot enforce the limit, so the caller must watch the disk usage. */
  readonly diskLimit: "enforced" | "watched";
}

/** A container as the engine describes it in full. */
export interface ContainerFacts {
  readonly id: string;
  readonly name: string;
  readonly imageId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly state: "created" | "running" | "paused" | "restarting" | "removing" | "exited" | "dead";
  /** The exit code; null until the container has ended. */
  readonly exitCode: number | null;
  readonly memoryExhausted: boolean;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /** Bytes in the container's own layer; null if the caller did not ask or the engine does not know. */
  readonly diskBytes: number | null;
}

export interface ExecSpec {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly workdir?: string;
  readonly user?: "0:0" | "1000:1000";
  /** Whether the caller writes input; if not, the program reads the end of its input at once. */
  readonly input: boolean;
}

export interface OutputChunk {
  readonly stream: "stdout" | "stderr";
  readonly bytes: Uint8Array;
}

/** `lost`: the stream ended, but the program's exit code is unknown; it may still run. */
export type ExecExit =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "lost"; readonly reason: string };

/** A program started in a running container. */
export interface Execution extends AsyncDisposable {
  readonly id: string;
  /** Resolves when the engine has taken the bytes. */
  write(bytes: Uint8Array): Promise<void>;
  endInput(): Promise<void>;
  /** The program's output, in order, with back-pressure: a slow reader slows the program down. */
  readonly output: AsyncIterable<OutputChunk>;
  /** How the program ended; call it after the output has ended. */
  exit(): Promise<ExecExit>;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** A program and the size of its terminal. */
export interface TerminalSpec extends Omit<ExecSpec, "input">, TerminalSize {}

/** A program in a running container whose streams are one terminal. */
export interface TerminalSession extends AsyncDisposable {
  /** Sends input of the terminal; resolves when the engine has taken it. */
  write(bytes: Uint8Array): Promise<void>;
  /** The terminal's output, as the program writes it. */
  readonly output: AsyncIterable<Uint8Array>;
  /** Changes the size of the terminal. */
  resize(size: TerminalSize): Promise<void>;
  /** How the program ended; call it after the output has ended. */
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

/** A hint that something happened; a list confirms it. */
export interface ContainerEvent {
  readonly containerId: string;
  readonly name: string;
  readonly action: string;
}

/** The containers of an engine. An id may be the full id, its first twelve characters, or the container's name. */
export interface Containers {
  /**
   * Makes a container, or finds the one of this name and these labels. It reads the container back: if the engine made it
   * weaker than requested, it removes the container and throws CONTAINER_REFUSED.
   */
  create(spec: ContainerSpec, signal?: AbortSignal): Promise<CreatedContainer>;
  /** Starts a container. At most two starts or creations per CPU run at once; waiting starts come before waiting creations. */
  start(id: string, signal?: AbortSignal): Promise<void>;
  stop(id: string, options: { readonly graceMs: number }, signal?: AbortSignal): Promise<void>;
  /** Waits while a program starts in the container: otherwise the engine could not unpause it again. */
  pause(id: string, signal?: AbortSignal): Promise<void>;
  /** Does nothing if the container is not paused; throws CONTAINER_STUCK if the engine cannot unpause it. */
  unpause(id: string, signal?: AbortSignal): Promise<void>;
  /** Removes the container with its anonymous volumes; does nothing if it does not exist. */
  remove(id: string, signal?: AbortSignal): Promise<void>;
  /** The container's facts; null if it does not exist. */
  look(
    id: string,
    options?: { readonly withDisk: boolean },
    signal?: AbortSignal,
  ): Promise<ContainerFacts | null>;
  exec(id: string, spec: ExecSpec, signal?: AbortSignal): Promise<Execution>;
  openTerminal(id: string, spec: TerminalSpec, signal?: AbortSignal): Promise<TerminalSession>;
  /** Unpacks a tar stream into a container that does not run; use `exec` for a running one. */
  copyIn(id: string, path: string, archive: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>;
  /** A path of a container that does not run, as an unchecked tar stream. */
  copyOut(id: string, path: string, signal?: AbortSignal): AsyncIterable<Uint8Array>;
  /** The output of the container's main process. */
  logs(id: string, options: { readonly follow: boolean }, signal?: AbortSignal): AsyncIterable<OutputChunk>;
  stats(id: string, signal?: AbortSignal): Promise<ContainerStats>;
  /** Makes an image of the container's layer; throws UNSUPPORTED_BY_ENGINE if the runtime hides the changes. */
  commit(
    id: string,
    options: { readonly tag: string; readonly labels: Readonly<Record<string, string>> },
    signal?: AbortSignal,
  ): Promise<string>;
  /** Events until the signal is aborted. */
  events(labels: Readonly<Record<string, string>>, signal: AbortSignal): AsyncIterable<ContainerEvent>;
}
