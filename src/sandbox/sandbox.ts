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
import { defaultMaxOutputLength } from "./sandbox-defaults.ts";

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

/** The options for opening a sandbox: the defaults of its commands. */
export interface OpenSandboxOptions {
  /** The default time limit of each command in the sandbox, in milliseconds. */
  readonly commandTimeoutMs?: number;
  /** The default maximum number of characters to keep of a command's stdout, and of its stderr. */
  readonly outputLimit?: number;
}

type SandboxFacts = Pick<Sandbox, "id" | "name" | "workdir" | "runtime" | "isolation" | "diskLimit">;

const destroyMs = 30_000;
const maxFileLength = 256 * 1024 * 1024;

/** Returns a `Sandbox` object for an existing container. */
export function createSandboxHandle(
  containers: Omit<Containers, "create" | "pause" | "unpause" | "openTerminal" | "copyIn" | "events">,
  { id, name, workdir, runtime, isolation, diskLimit }: SandboxFacts,
  { commandTimeoutMs = 60_000, outputLimit = defaultMaxOutputLength }: OpenSandboxOptions,
): Sandbox {
  const container = { containers, containerId: id };
  const pathOf = (path: string, { absolute = false }: FileOptions): string =>
    resolveContainerPath(workdir, path, { absolute });

  const exec: Sandbox["exec"] = async (command, options = {}) => {
    if (command.length === 0)
      throw new SwarmError("EXEC_FAILED", { command: "(nothing)", reason: "the command is empty" });
    const { workdir: below, input, env, onOutput, signal } = options;
    return runCommand(
      container,
      {
        command,
        workdir: below === undefined ? workdir : pathOf(below, { absolute: below.startsWith("/") }),
        ...(env && { env }),
        ...(input !== undefined && { input: bytesOf(input) }),
        ...(onOutput && { onOutput }),
        timeoutMs: options.timeoutMs ?? commandTimeoutMs,
        outputLimit: options.outputLimit ?? outputLimit,
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
    id,
    name,
    workdir,
    runtime,
    isolation,
    diskLimit,
    start: (signal) => containers.start(id, signal),
    stop: ({ graceMs = 10_000 } = {}) => containers.stop(id, { graceMs }),
    exec,
    sh: (script, options) => exec(["sh", "-c", script], options),

    readFile: async (path, { maxBytes = maxFileLength, signal, ...options } = {}) =>
      readSandboxFile(container, { path: pathOf(path, options), maxBytes }, signal),

    writeFile: async (path, content, { signal, ...options } = {}) =>
      writeSandboxFile(container, { path: pathOf(path, options), content: bytesOf(content) }, signal),

    list: async (path = ".", { signal, ...options } = {}) =>
      listSandboxFolder(container, pathOf(path, options), signal),

    async copyIn(from, into = ".", { signal, ...options } = {}) {
      const files = await listArchiveEntries(from);
      await copyFilesIntoSandbox(container, { into: pathOf(into, options), files }, signal);
    },

    copyOut: async (path, into, { leaveOut = false, signal, ...options } = {}) =>
      copyPathOutOfSandbox(container, { path: pathOf(path, options), into, leaveOut }, signal),

    logs: ({ follow = false, signal } = {}) => containers.logs(id, { follow }, signal),
    stats: (signal) => containers.stats(id, signal),
    look: () => containers.inspect(id),
    commit: (tag, signal) => containers.commit(id, { tag, labels: {} }, signal),
    destroy,
    [Symbol.asyncDispose]: destroy,
  };
}

function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? Buffer.from(content) : content;
}
