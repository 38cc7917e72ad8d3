import { packFiles } from "../archive/pack-files.ts";
import type { ContainerLimits, ContainerNetwork, ContainerSpec, Containers } from "../engine/containers.ts";
import { labels } from "../engine/engine.ts";
import { baseImage } from "../engine/rules/base-image.ts";
import type { IsolationLevel } from "../engine/rules/isolation.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import { findOrPullImage } from "../images/find-or-pull-image.ts";
import { capLimitsToEngine } from "./cap-limits-to-engine.ts";
import { findMissingProgramsScript } from "./command/in-container-scripts.ts";
import { runCommand } from "./command/run-command.ts";
import { type FindRuntimeDeps, type FoundRuntime, findRuntime } from "./find-runtime.ts";
import { createSandboxHandle, type Sandbox } from "./sandbox.ts";
import {
  defaultCommandTimeoutMs,
  defaultLimits,
  defaultMaxOutputLength,
  defaultNamePrefix,
  defaultTmpBytes,
  defaultWorkdir,
  mainProcessUser,
} from "./sandbox-defaults.ts";

/** The options for creating a sandbox. Every option has a default. */
export interface SandboxOptions {
  /**
   * The image of the sandbox, which swarm pulls if the engine does not have it. The image must contain a C
   * library, `sh`, `sleep`, `tar` and common file programs, such as `cat`, `head` and `mv`.
   */
  readonly image?: string;
  /** The prefix of the container's name; the sandbox's ID follows. */
  readonly prefix?: string;
  readonly workdir?: string;
  /** The default time limit of each command in the sandbox, in milliseconds. */
  readonly commandTimeoutMs?: number;
  /** The default maximum number of characters to keep of a command's stdout, and of its stderr. */
  readonly outputLimit?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** The sandbox's network; `none` by default. `bridge` gives the sandbox internet access. */
  readonly network?: "none" | "bridge";
  readonly isolation?: "auto" | IsolationLevel;
  readonly limits?: Partial<ContainerLimits>;
  readonly readOnlyRoot?: boolean;
  /**
   * The time to live of the sandbox in milliseconds, counted from its start. Afterwards, the sandbox ends,
   * even if commands are still running.
   */
  readonly ttlMs?: number;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface CreateSandboxDeps extends FindRuntimeDeps {
  readonly newId: () => string;
}

const defaultTtlMs = 6 * 60 * 60_000;
const undoMs = 30_000;
const neededPrograms: readonly string[] = ["tar", "cat", "head", "wc", "mkdir", "mv", "dirname", "basename"];

/** Creates a sandbox and starts it. The caller must destroy the sandbox, with `await using` or `destroy`. */
export async function createSandbox(
  deps: CreateSandboxDeps,
  options: SandboxOptions = {},
  signal?: AbortSignal,
): Promise<Sandbox> {
  const { containers } = await deps.engine.open();
  const workdir = options.workdir ?? defaultWorkdir;
  if (!workdir.startsWith("/"))
    throw new SwarmError("SPEC_REFUSED", {
      field: `The working folder ${JSON.stringify(workdir)}`,
      reason: "the path must be absolute",
    });
  const image = await findOrPullImage(deps.engine, options.image ?? baseImage, signal);
  const runtime = await findRuntime(deps, options.isolation ?? "auto", signal);
  const id = deps.newId();
  const limits = { ...capLimitsToEngine(defaultLimits, await deps.engine.info(signal)), ...options.limits };
  const spec = containerSpecOf(options, { id, imageId: image.id, runtime, limits });

  await using undo = new AsyncDisposableStack();
  const created = await containers.create(spec, signal);
  // Ignores a failed removal, because the caller needs the error that caused the removal.
  undo.defer(() => containers.remove(created.id, AbortSignal.timeout(undoMs)).catch(() => {}));
  const sandbox = createSandboxHandle(containers, {
    ...{ id: created.id, name: spec.name, workdir, diskLimit: created.diskLimit },
    ...{ isolation: runtime.level, runtime: runtime.runtime },
    commandTimeoutMs: options.commandTimeoutMs ?? defaultCommandTimeoutMs,
    outputLimit: options.outputLimit ?? defaultMaxOutputLength,
  });
  await makeWorkdir(containers, created.id, workdir, signal);
  await startIfImageSuitable(containers, { id: created.id, image: options.image ?? baseImage }, signal);
  undo.move();
  return sandbox;
}

/**
 * Creates the sandbox's working folder if the image does not contain it. The sandbox's user owns the folder;
 * if the engine created it, root would own it.
 */
async function makeWorkdir(
  containers: Containers,
  id: string,
  workdir: string,
  signal?: AbortSignal,
): Promise<void> {
  const present = containers.copyOut(id, workdir, signal)[Symbol.asyncIterator]();
  try {
    await present.next();
  } catch (error) {
    if (!isError(error, "FILE_NOT_FOUND")) throw error;
    const folder = { kind: "folder", path: workdir.slice(1), mode: 0o755, uid: 1000, gid: 1000 } as const;
    await containers.copyIn(id, "/", packFiles([folder]), signal);
  } finally {
    await present.return?.();
  }
}

/**
 * Starts a sandbox's container. Throws IMAGE_UNSUITABLE if the image does not contain a program that swarm
 * needs, such as `tar`.
 */
export async function startIfImageSuitable(
  containers: Containers,
  { id, image }: { readonly id: string; readonly image: string },
  signal?: AbortSignal,
): Promise<void> {
  try {
    await containers.start(id, signal);
  } catch (error) {
    const isProgramMissing =
      error instanceof SwarmError &&
      /executable file not found|no such file or directory/i.test(error.message);
    if (isProgramMissing) throw new SwarmError("IMAGE_UNSUITABLE", { image, absent: ["sleep"] }, error);
    throw error;
  }
  if (image === baseImage) return;
  const { stdout } = await runCommand(
    containers,
    {
      containerId: id,
      command: ["sh", "-c", findMissingProgramsScript, "sh", ...neededPrograms],
      ...{ timeoutMs: 30_000, outputLimit: 10_000 },
    },
    signal,
  ).catch((error: unknown) => {
    if (error instanceof SwarmError && error.code === "EXEC_FAILED")
      throw new SwarmError("IMAGE_UNSUITABLE", { image, absent: ["sh"] }, error);
    // The container has ended: the engine's init process found no `sleep` in the image.
    if (error instanceof SwarmError && error.code === "CONTAINER_NOT_RUNNING")
      throw new SwarmError("IMAGE_UNSUITABLE", { image, absent: ["sleep"] }, error);
    throw error;
  });
  const absent = stdout.split("\n").filter(Boolean);
  if (absent.length > 0) throw new SwarmError("IMAGE_UNSUITABLE", { image, absent });
}

function containerSpecOf(
  options: SandboxOptions,
  {
    id,
    imageId,
    runtime,
    limits,
  }: {
    readonly id: string;
    readonly imageId: string;
    readonly runtime: FoundRuntime;
    readonly limits: ContainerLimits;
  },
): ContainerSpec {
  const workdir = options.workdir ?? defaultWorkdir;
  const network: ContainerNetwork = { kind: options.network ?? "none" };
  return {
    name: `${options.prefix ?? defaultNamePrefix}${id}`,
    labels: {
      ...options.labels,
      [labels.sandbox]: "true",
      [labels.role]: "sandbox",
      [labels.sandboxId]: id,
      [labels.isolation]: runtime.level,
      [labels.runtime]: runtime.runtime,
      [labels.workdir]: workdir,
    },
    image: imageId,
    command: sleepCommand(options.ttlMs ?? defaultTtlMs),
    env: { HOME: "/tmp", IS_SANDBOX: "1", ...options.env },
    user: mainProcessUser,
    // Not the option `workdir`: if that folder is missing, the engine would create it with root as its owner.
    workdir: "/",
    runtime: runtime.runtime,
    network,
    limits,
    capabilities: [],
    readOnlyRoot: options.readOnlyRoot ?? false,
    privileged: false,
    tmpBytes: Math.min(defaultTmpBytes, limits.memoryBytes),
    volumes: [],
  };
}

/**
 * Returns the command of a sandbox's main process: a `sleep` for the time to live. When the `sleep` ends, the
 * container ends, even if no swarm process is running. No program in the sandbox can prevent this.
 */
export function sleepCommand(ttlMs: number | null): string[] {
  return ["sleep", ttlMs === null ? "infinity" : String(Math.ceil(ttlMs / 1000))];
}
