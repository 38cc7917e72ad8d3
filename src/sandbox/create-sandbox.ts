import { packFiles } from "../archive/pack-files.ts";
import type { ContainerLimits, Containers } from "../engine/containers.ts";
import { baseImage } from "../engine/rules/base-image.ts";
import type { IsolationLevel } from "../engine/rules/isolation.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import { findOrPullImage } from "../images/find-or-pull-image.ts";
import { findMissingProgramsScript, shellCommand } from "./command/in-container-scripts.ts";
import { type CommandContainer, runCommand } from "./command/run-command.ts";
import { type FindRuntimeDeps, findRuntime } from "./find-runtime.ts";
import { createSandboxHandle, type OpenSandboxOptions, type Sandbox } from "./sandbox.ts";
import { sandboxContainer } from "./sandbox-container.ts";
import { defaultLimits, defaultWorkdir } from "./sandbox-defaults.ts";
import { capLimitsToEngine } from "./sandbox-limits.ts";

/** The options for creating a sandbox. Every option has a default. */
export interface SandboxOptions extends SandboxContainerOptions, OpenSandboxOptions {}

/** The properties of a new sandbox's container. */
interface SandboxContainerOptions {
  /**
   * The image of the sandbox, which swarm pulls if the engine does not have it. The image must contain a C
   * library, `sh`, `sleep`, `tar` and common file programs, such as `cat`, `head` and `mv`.
   */
  readonly image?: string;
  /** The prefix of the container's name; the sandbox's ID follows. */
  readonly prefix?: string;
  readonly workdir?: string;
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
  options: SandboxContainerOptions = {},
  commandDefaults: OpenSandboxOptions = {},
  signal?: AbortSignal,
): Promise<Sandbox> {
  const { engine, newId } = deps;
  const { image: reference = baseImage, workdir = defaultWorkdir, env = {}, ttlMs = defaultTtlMs } = options;
  const { containers } = await engine.open();
  if (!workdir.startsWith("/"))
    throw new SwarmError("SPEC_REFUSED", {
      field: `The working folder ${JSON.stringify(workdir)}`,
      reason: "the path must be absolute",
    });
  const image = await findOrPullImage(engine, reference, signal);
  const runtime = await findRuntime(deps, options.isolation ?? "auto", signal);
  const id = newId();
  const name = `${options.prefix ?? "aimi-"}${id}`;
  const limits = { ...capLimitsToEngine(defaultLimits, await engine.info(signal)), ...options.limits };
  const container = sandboxContainer({ id, workdir, env, limits, runtime, ttlMs });

  await using undo = new AsyncDisposableStack();
  const created = await containers.create(
    {
      ...container,
      name,
      labels: { ...options.labels, ...container.labels },
      image: image.id,
      // Not the option `workdir`: if that folder is missing, the engine would create it with root as its owner.
      workdir: "/",
      network: { kind: options.network ?? "none" },
      readOnlyRoot: options.readOnlyRoot ?? false,
      privileged: false,
      volumes: [],
    },
    signal,
  );
  // Ignores a failed removal, because the caller needs the error that caused the removal.
  undo.defer(() => containers.remove(created.id, AbortSignal.timeout(undoMs)).catch(() => {}));
  const facts = { ...created, name, workdir, isolation: runtime.level, runtime: runtime.runtime };
  const sandbox = createSandboxHandle(containers, facts, commandDefaults);
  await makeWorkdir(containers, created.id, workdir, signal);
  await startIfImageSuitable({ containers, containerId: created.id }, reference, signal);
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
  container: CommandContainer & { readonly containers: Pick<Containers, "start"> },
  image: string,
  signal?: AbortSignal,
): Promise<void> {
  const lacks = (absent: readonly string[], cause?: unknown): SwarmError =>
    new SwarmError("IMAGE_UNSUITABLE", { image, absent }, cause);
  try {
    await container.containers.start(container.containerId, signal);
  } catch (error) {
    const isProgramMissing =
      error instanceof SwarmError &&
      /executable file not found|no such file or directory/i.test(error.message);
    throw isProgramMissing ? lacks(["sleep"], error) : error;
  }
  if (image === baseImage) return;
  const { stdout } = await runCommand(
    container,
    {
      command: shellCommand(findMissingProgramsScript, ...neededPrograms),
      timeoutMs: 30_000,
      outputLimit: 10_000,
    },
    signal,
  ).catch((error: unknown) => {
    if (isError(error, "EXEC_FAILED")) throw lacks(["sh"], error);
    // The container has ended: the engine's init process found no `sleep` in the image.
    throw isError(error, "CONTAINER_NOT_RUNNING") ? lacks(["sleep"], error) : error;
  });
  const absent = stdout.split("\n").filter(Boolean);
  if (absent.length > 0) throw lacks(absent);
}
