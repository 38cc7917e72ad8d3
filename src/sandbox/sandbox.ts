import { resolveContainerPath } from "../domain/container-path.ts";
import { SwarmError } from "../domain/errors.ts";
import type { IsolationLevel } from "../domain/isolation.ts";
import type { ContainerFacts, ContainerStats, Containers, OutputChunk } from "../ports/containers.ts";
import { listArchiveEntries } from "./files-below.ts";
import { type CommandResult, runCommand } from "./run-command.ts";
import {
  type CopiedOut,
  copyFilesIntoSandbox,
  copyPathOutOfSandbox,
  type ListedFile,
  listSandboxFolder,
  readSandboxFile,
  writeSandboxFile,
} from "./sandbox-files.ts";

export interface ExecOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The program's working folder: absolute, or relative to the sandbox's working folder. */
  readonly workdir?: string;
  readonly input?: string | Uint8Array;
  /**
   * The time limit in milliseconds. On timeout, the call kills the program's processes and throws
   * COMMAND_TIMEOUT.
   */
  readonly timeoutMs?: number;
  readonly outputLimit?: number;
  readonly onOutput?: (chunk: OutputChunk) => Promise<void> | void;
  readonly signal?: AbortSignal;
}

export interface FileOptions {
  /** Whether the path is absolute in the container. If not, it is relative to the sandbox's working folder. */
  readonly absolute?: boolean;
  readonly signal?: AbortSignal;
}

/** An isolated container with limits and a lifetime, as the library offers it. */
export interface Sandbox extends AsyncDisposable {
  /** The engine's id of the container. Its first twelve characters suffice to identify the sandbox. */
  readonly id: string;
  readonly name: string;
  readonly workdir: string;
  readonly runtime: string;
  /** The isolation level of the runtime, as swarm measured it. */
  readonly isolation: IsolationLevel;
  /**
   * - `enforced`: the engine enforces the disk limit
   * - `watched`: the engine does not enforce the disk limit, so the caller must watch the disk use
   */
  readonly diskLimit: "enforced" | "watched";
  start(signal?: AbortSignal): Promise<void>;
  stop(options?: { readonly graceMs?: number }): Promise<void>;
  /**
   * Runs a program, without a shell that would interpret the arguments. An exit code other than 0 is a
   * result, not an error.
   */
  exec(command: readonly string[], options?: ExecOptions): Promise<CommandResult>;
  /** Runs a shell script. */
  sh(script: string, options?: ExecOptions): Promise<CommandResult>;
  readFile(path: string, options?: FileOptions & { readonly maxBytes?: number }): Promise<Uint8Array>;
  writeFile(path: string, content: string | Uint8Array, options?: FileOptions): Promise<void>;
  list(path?: string, options?: FileOptions): Promise<ListedFile[]>;
  /** Copies a file or folder of this machine into a folder of the sandbox. */
  copyIn(from: string, into?: string, options?: FileOptions): Promise<void>;
  /** Copies a file or folder of the sandbox to a path of this machine that does not exist yet. */
  copyOut(
    path: string,
    into: string,
    options?: FileOptions & { readonly leaveOut?: boolean },
  ): Promise<CopiedOut>;
  /** Reads the output of the container's main process. */
  logs(options?: { readonly follow?: boolean; readonly signal?: AbortSignal }): AsyncIterable<OutputChunk>;
  stats(signal?: AbortSignal): Promise<ContainerStats>;
  /** Returns the engine's facts about the container; null if the container is gone. */
  look(): Promise<ContainerFacts | null>;
  /** Saves the sandbox's filesystem as an image. Returns the image's id. */
  commit(tag: string, signal?: AbortSignal): Promise<string>;
  /** Ends and removes the sandbox. A second call does nothing. */
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

/** Returns the `Sandbox` interface to an existing container. */
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
