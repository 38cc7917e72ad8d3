import type { ContainerFacts, ContainerStats, Containers, OutputChunk } from "../engine/containers.ts";
import { resolveContainerPath } from "../engine/rules/container-path.ts";
import type { IsolationLevel } from "../engine/rules/isolation.ts";
import { SwarmError } from "../errors/errors.ts";
import { type CommandResult, runCommand } from "./command/run-command.ts";
import { listArchiveEntries } from "./files/list-archive-entries.ts";
import {
  type CopiedOut,
  copyFilesIntoSandbox,
  copyPathOutOfSandbox,
  type ListedFile,
  listSandboxFolder,
  readSandboxFile,
  writeSandboxFile,
} from "./files/sandbox-files.ts";

export interface ExecOptions {
  readonly env?: Readonly<Record<string, string>>;
  /**
   * The working folder of the program: an absolute path, or a path relative to the sandbox's working folder.
   */
  readonly workdir?: string;
  readonly input?: string | Uint8Array;
  /**
   * The time limit of the program in milliseconds. On timeout, swarm kills all processes of the program and
   * throws COMMAND_TIMEOUT.
   */
  readonly timeoutMs?: number;
  readonly outputLimit?: number;
  readonly onOutput?: (chunk: OutputChunk) => Promise<void> | void;
  readonly signal?: AbortSignal;
}

export interface FileOptions {
  /**
   * Whether the path is absolute in the container. If not, the path is relative to the sandbox's working
   * folder.
   */
  readonly absolute?: boolean;
  readonly signal?: AbortSignal;
}

/** A sandbox, as the library offers it: an isolated container with resource limits and a time to live. */
export interface Sandbox extends AsyncDisposable {
  /** The container's ID in the engine. Its first twelve characters suffice for `openSandbox`. */
  readonly id: string;
  readonly name: string;
  readonly workdir: string;
  readonly runtime: string;
  /** The isolation level that swarm measured for the sandbox's runtime. */
  readonly isolation: IsolationLevel;
  /**
   * - `enforced`: the engine enforces the disk limit
   * - `watched`: the engine does not enforce the disk limit, so the caller must monitor the disk usage
   */
  readonly diskLimit: "enforced" | "watched";
  start(signal?: AbortSignal): Promise<void>;
  stop(options?: { readonly graceMs?: number }): Promise<void>;
  /**
   * Runs a program in the sandbox, without a shell. Throws no error if the program exits with a code other
   * than 0.
   */
  exec(command: readonly string[], options?: ExecOptions): Promise<CommandResult>;
  /** Runs a shell script in the sandbox with `sh -c`. */
  sh(script: string, options?: ExecOptions): Promise<CommandResult>;
  readFile(path: string, options?: FileOptions & { readonly maxBytes?: number }): Promise<Uint8Array>;
  writeFile(path: string, content: string | Uint8Array, options?: FileOptions): Promise<void>;
  list(path?: string, options?: FileOptions): Promise<ListedFile[]>;
  /** Copies a file or folder of this machine into a folder of the sandbox. */
  copyIn(from: string, into?: string, options?: FileOptions): Promise<void>;
  /** Copies a file or folder of the sandbox to a path on this machine that must not exist. */
  copyOut(
    path: string,
    into: string,
    options?: FileOptions & { readonly leaveOut?: boolean },
  ): Promise<CopiedOut>;
  /** Reads the stdout and stderr of the container's main process. */
  logs(options?: { readonly follow?: boolean; readonly signal?: AbortSignal }): AsyncIterable<OutputChunk>;
  stats(signal?: AbortSignal): Promise<ContainerStats>;
  /** Returns the state and the properties of the container; null if the container does not exist. */
  look(): Promise<ContainerFacts | null>;
  /** Saves the sandbox's filesystem as an image with this tag. Returns the image's ID. */
  commit(tag: string, signal?: AbortSignal): Promise<string>;
  /** Stops the sandbox and removes its container. A second call does nothing. */
  destroy(): Promise<void>;
}

export interface SandboxFacts {
  readonly id: string;
  readonly name: string;
  readonly workdir: string;
  readonly runtime: string;
  readonly isolation: IsolationLevel;
  readonly diskLimit: "enforced" | "watched";
  readonly commandTimeoutMs: number;
  readonly outputLimit: number;
}

const destroyMs = 30_000;
const maxFileLength = 256 * 1024 * 1024;

/** Returns a `Sandbox` object for an existing container. */
export function createSandboxHandle(containers: Containers, facts: SandboxFacts): Sandbox {
  const { id, name, workdir } = facts;
  const pathOf = (path: string, options: FileOptions | undefined): string =>
    resolveContainerPath(workdir, path, { absolute: options?.absolute ?? false });

  const exec: Sandbox["exec"] = async (command, options = {}) => {
    if (command.length === 0)
      throw new SwarmError("EXEC_FAILED", { command: "(nothing)", reason: "the command is empty" });
    const { workdir: below, input, env, onOutput, signal } = options;
    return runCommand(
      containers,
      {
        ...{ containerId: id, command },
        workdir:
          below === undefined
            ? workdir
            : resolveContainerPath(workdir, below, { absolute: below.startsWith("/") }),
        ...(env && { env }),
        ...(input !== undefined && { input: typeof input === "string" ? Buffer.from(input) : input }),
        ...(onOutput && { onOutput }),
        timeoutMs: options.timeoutMs ?? facts.commandTimeoutMs,
        outputLimit: options.outputLimit ?? facts.outputLimit,
      },
      signal,
    );
  };

  const destroy = async (): Promise<void> => {
    try {
      await containers.remove(id, AbortSignal.timeout(destroyMs));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new SwarmError("CLEANUP_FAILED", { left: [`container ${name}`], reason }, error);
    }
  };

  return {
    ...{ id, name, workdir, runtime: facts.runtime, isolation: facts.isolation, diskLimit: facts.diskLimit },
    start: (signal) => containers.start(id, signal),
    stop: ({ graceMs = 10_000 } = {}) => containers.stop(id, { graceMs }),
    exec,
    sh: (script, options) => exec(["sh", "-c", script], options),

    readFile: async (path, options) =>
      readSandboxFile(
        containers,
        { id, path: pathOf(path, options), maxBytes: options?.maxBytes ?? maxFileLength },
        options?.signal,
      ),

    writeFile: async (path, content, options) =>
      writeSandboxFile(
        containers,
        {
          ...{ id, path: pathOf(path, options) },
          content: typeof content === "string" ? Buffer.from(content) : content,
        },
        options?.signal,
      ),

    list: async (path = ".", options) =>
      listSandboxFolder(containers, { id, path: pathOf(path, options) }, options?.signal),

    async copyIn(from, into = ".", options) {
      const files = await listArchiveEntries(from);
      await copyFilesIntoSandbox(containers, { id, into: pathOf(into, options), files }, options?.signal);
    },

    copyOut: async (path, into, options) =>
      copyPathOutOfSandbox(
        containers,
        { id, path: pathOf(path, options), into, leaveOut: options?.leaveOut ?? false },
        options?.signal,
      ),

    logs: ({ follow = false, signal } = {}) => containers.logs(id, { follow }, signal),
    stats: (signal) => containers.stats(id, signal),
    look: () => containers.inspect(id),
    commit: (tag, signal) => containers.commit(id, { tag, labels: {} }, signal),
    destroy,
    [Symbol.asyncDispose]: destroy,
  };
}
