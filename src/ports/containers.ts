/** What one sandbox may use of the machine. */
export interface ContainerLimits {
  readonly cpus: number;
  readonly memoryBytes: number;
  /** Swap on top of memory. */
  readonly swapBytes: number;
  readonly pids: number;
  /** Open files of one process. */
  readonly descriptors: number;
  readonly diskBytes: number;
  /** Files that it may hold: no engine limits these, so they are watched. */
  readonly files: number;
  readonly logBytes: number;
  /** Whether older 32-bit programs may open sockets, of whatever family: no filter can see which. */
  readonly programs32Bit?: boolean;
}

export type ContainerNetwork =
  | { readonly kind: "none" }
  /** The engine's own network, with a way out. */
  | { readonly kind: "bridge" }
  /** The host's own network: no isolation of it at all. */
  | { readonly kind: "host" }
  | {
      readonly kind: "named";
      readonly name: string;
      /** The container's own there; the engine chooses one where none is given. */
      readonly address?: string;
    };

/** The most that a supervisor needs; an agent has none. */
export type Capability = "SETUID" | "SETGID" | "KILL";

/** What a container is to be. What an engine cannot honour is an error, never left out in silence. */
export interface ContainerSpec {
  /** Our key: the same name with the same labels is the same container. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly image: string;
  readonly command: readonly string[];
  /** All that it gets; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly user: "0:0" | "1000:1000";
  readonly workdir: string;
  readonly runtime: string;
  readonly network: ContainerNetwork;
  readonly limits: ContainerLimits;
  readonly capabilities: readonly Capability[];
  readonly readOnlyRoot: boolean;
  /** Everything is allowed: the one way to switch protection off. */
  readonly privileged: boolean;
  /** Size of `/tmp`, which lies in memory. */
  readonly tmpBytes: number;
  readonly volumes: readonly VolumeMount[];
  /** The one place that is asked for the addresses of names; the engine's own choice where none is given. */
  readonly nameServer?: string;
}

export interface VolumeMount {
  readonly name: string;
  readonly path: string;
  readonly readOnly?: boolean;
}

/** What was made of a spec. */
export interface CreatedContainer {
  readonly id: string;
  /** `watched`: the storage driver cannot hold the limit, so somebody must look. */
  readonly diskLimit: "enforced" | "watched";
}

/** A container as the engine describes it in full. */
export interface ContainerFacts {
  readonly id: string;
  readonly name: string;
  readonly imageId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly state: "created" | "running" | "paused" | "restarting" | "removing" | "exited" | "dead";
  /** Null until it has ended. */
  readonly exitCode: number | null;
  readonly memoryExhausted: boolean;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /** Bytes in its own layer; null where the engine was not asked or cannot tell. */
  readonly diskBytes: number | null;
}

export interface ExecSpec {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly workdir?: string;
  readonly user?: "0:0" | "1000:1000";
  /** Whether input will be written; without, the program reads an end at once. */
  readonly input: boolean;
}

export interface OutputChunk {
  readonly stream: "stdout" | "stderr";
  readonly bytes: Uint8Array;
}

/** `lost`: the stream ended and nobody can say how the program did; it may still run. */
export type ExecExit =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "lost"; readonly reason: string };

/** A program started in a running container. */
export interface Execution extends AsyncDisposable {
  readonly id: string;
  /** Resolves when the engine has taken the bytes. */
  write(bytes: Uint8Array): Promise<void>;
  endInput(): Promise<void>;
  /** What it writes, in order. Who reads slowly makes it write slowly. */
  readonly output: AsyncIterable<OutputChunk>;
  /** How it ended; to be asked once the output has ended. */
  exit(): Promise<ExecExit>;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** A program, and the window that it is seen through. */
export interface TerminalSpec extends Omit<ExecSpec, "input">, TerminalSize {}

/** A program in a running container whose streams are one terminal. */
export interface TerminalSession extends AsyncDisposable {
  /** What is typed; resolves when the engine has taken it. */
  write(bytes: Uint8Array): Promise<void>;
  /** What is to be shown, as the program writes it. */
  readonly output: AsyncIterable<Uint8Array>;
  /** The window has another size. */
  resize(size: TerminalSize): Promise<void>;
  /** How it ended; to be asked once the output has ended. */
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

/** The containers of an engine. Every id may be the long one, its first twelve characters, or our name. */
export interface Containers {
  /**
   * Makes a container, or finds the one of this name and these labels. What was made is read back: an engine that made it
   * weaker than asked is CONTAINER_REFUSED, and the container is removed.
   */
  create(spec: ContainerSpec, signal?: AbortSignal): Promise<CreatedContainer>;
  /** At most two for each CPU of the engine are made or started at once; the rest wait, those that are to be made longest. */
  start(id: string, signal?: AbortSignal): Promise<void>;
  stop(id: string, options: { readonly graceMs: number }, signal?: AbortSignal): Promise<void>;
  /** Not while a program begins in it: it could not be thawed again. */
  pause(id: string, signal?: AbortSignal): Promise<void>;
  /** What is not paused is fine; CONTAINER_STUCK where the engine cannot thaw it. */
  unpause(id: string, signal?: AbortSignal): Promise<void>;
  /** With its anonymous volumes; what is gone already is fine. */
  remove(id: string, signal?: AbortSignal): Promise<void>;
  /** Null when there is none. */
  look(
    id: string,
    options?: { readonly withDisk: boolean },
    signal?: AbortSignal,
  ): Promise<ContainerFacts | null>;
  exec(id: string, spec: ExecSpec, signal?: AbortSignal): Promise<Execution>;
  openTerminal(id: string, spec: TerminalSpec, signal?: AbortSignal): Promise<TerminalSession>;
  /** Puts a tar stream into a container that does not run; running ones take it by `exec`. */
  copyIn(id: string, path: string, archive: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void>;
  /** A path of a container that does not run, as a tar stream that nobody has checked yet. */
  copyOut(id: string, path: string, signal?: AbortSignal): AsyncIterable<Uint8Array>;
  /** What its main process wrote. */
  logs(id: string, options: { readonly follow: boolean }, signal?: AbortSignal): AsyncIterable<OutputChunk>;
  stats(id: string, signal?: AbortSignal): Promise<ContainerStats>;
  /** Makes an image of its layer; UNSUPPORTED_BY_ENGINE where the runtime keeps the changes to itself. */
  commit(
    id: string,
    options: { readonly tag: string; readonly labels: Readonly<Record<string, string>> },
    signal?: AbortSignal,
  ): Promise<string>;
  /** Ends with the signal. */
  events(labels: Readonly<Record<string, string>>, signal: AbortSignal): AsyncIterable<ContainerEvent>;
}
