import { type EntryToPack, packFiles } from "../archive/pack-files.ts";
import type { SandboxRecord } from "../contract/sandbox-run.ts";
import type { ContainerLimits, ContainerSpec } from "../engine/containers.ts";
import type { ConnectedEngine } from "../engine/engine.ts";
import { baseImage } from "../engine/rules/base-image.ts";
import {
  chooseSystemCallFilter,
  describeSystemCallFilter,
  type SystemCallFilter,
} from "../engine/rules/system-call-filter.ts";
import { SwarmError } from "../errors/errors.ts";
import { findOrPullImage } from "../images/find-or-pull-image.ts";
import { foldersAbove } from "../text/tree-path.ts";
import { type FindRuntimeDeps, type FoundRuntime, findRuntime } from "./find-runtime.ts";
import { sandboxContainerName } from "./inspect-container.ts";
import type { ProjectSandboxDeps } from "./open-project-sandboxes.ts";
import { findSandboxDangers, type SandboxDanger, type SandboxSpec } from "./rules/sandbox-spec.ts";
import { sandboxContainer } from "./sandbox-container.ts";
import type { SandboxInputFile } from "./sandbox-folders-port.ts";
import { capLimitsToEngine } from "./sandbox-limits.ts";

/** What the creation of a sandbox from a spec needs. */
export interface CreateFromSpecDeps extends ProjectSandboxDeps, FindRuntimeDeps {
  readonly newId: () => string;
  readonly limits: ContainerLimits;
  /** The references of the images for tasks in Python, Node and bash. */
  readonly languageImages: Readonly<Record<"python" | "node" | "bash", string>>;
  /** Returns the ID of swarm's base image, after building the image if it does not exist or is outdated. */
  readonly ensureBase: (onStep: (step: string) => void, signal?: AbortSignal) => Promise<string>;
}

export interface CreateFromSpecRequest {
  readonly spec: SandboxSpec;
  /** The spec's source text, of which swarm stores a copy in the sandbox's folder. */
  readonly specText: string;
  readonly allowed: readonly SandboxDanger["permission"][];
  /**
   * Whether the sandbox ends after the spec's time to live. If not, only `swarm sandbox destroy` ends the
   * sandbox.
   */
  readonly autoDestroy: boolean;
}

export interface CreatedSandbox {
  readonly record: SandboxRecord;
  readonly warnings: readonly string[];
}

/** A sandbox that swarm creates, as it is recorded and as its container is made. */
interface PlannedSandbox extends Pick<CreateFromSpecRequest, "spec" | "autoDestroy"> {
  readonly id: string;
  readonly image: FoundImage;
  readonly runtime: FoundRuntime;
  readonly limits: ContainerLimits;
}

interface FoundImage {
  readonly id: string;
  readonly reference: string;
  readonly warnings: readonly string[];
}

const undoMs = 30_000;
const folders = ["inputs", "outputs", "task", "work"] as const;

/**
 * Creates a sandbox from a spec: creates its container and copies the input files into it, but does not start
 * it. If a step fails, undoes the earlier steps.
 */
export async function createSandboxFromSpec(
  deps: CreateFromSpecDeps,
  { spec, specText, allowed, autoDestroy }: CreateFromSpecRequest,
  onStep: (step: string) => void,
  signal?: AbortSignal,
): Promise<CreatedSandbox> {
  const dangers = findSandboxDangers(spec);
  const refused = dangers.find(({ permission }) => !allowed.includes(permission));
  if (refused) throw new SwarmError("DANGEROUS", { what: refused.what, flag: refused.flag });
  const inputs = await deps.folders.findInputs(spec.inputs);
  const image = await findImage(deps, spec, onStep, signal);
  onStep("Checking how strongly the engine's runtimes isolate containers");
  const runtime = await findRuntime(deps, spec.isolation, signal);

  const id = deps.newId();
  const info = await deps.engine.info(signal);
  const limits = limitsOf(capLimitsToEngine(deps.limits, info), spec);
  const planned = { spec, autoDestroy, id, image, runtime, limits };
  const draft = recordOf(deps, planned);
  const container = containerSpecOf(planned);
  await using undo = new AsyncDisposableStack();
  await deps.folders.make(id, { spec: specText, inputs });
  // If the container cannot be removed, the draft record stays. The next command that reads the record then
  // removes both.
  undo.defer(() =>
    removeAll(deps, container).then(
      () => deps.folders.clear(id, { everything: true }),
      () => {},
    ),
  );
  // Holds the sandbox's lock until the sandbox is complete. A draft record whose lock is free therefore means
  // an interrupted creation.
  await using _held = await deps.folders.lockOf(id).acquire(0, signal);
  await deps.folders.write(draft);
  const open = await deps.engine.open();
  onStep("Creating the container");
  for (const volume of container.volumes) await open.volumes.create(volume.name, container.labels, signal);
  const created = await open.containers.create(container, signal);
  await fill(open, container, created.id, inputs, signal);
  const record: SandboxRecord = { ...draft, container: { id: created.id, image: image.id } };
  await deps.folders.write(record);
  await deps.folders.logEvent(id, {
    event: "created",
    container: created.id,
    image: image.reference,
    diskLimit: created.diskLimit,
  });
  undo.move();
  return {
    record,
    warnings: [
      ...image.warnings,
      ...dangers.map(({ what }) => `DANGEROUS: ${what} removes the sandbox's protection`),
      ...(autoDestroy ? [] : ["DANGEROUS: this sandbox runs until you end it with `swarm sandbox destroy`"]),
      ...runtime.rejectedRuntimes.map((reason) => `swarm did not use a stronger runtime: ${reason}`),
      ...permissionWarnings(spec),
      ...filterWarnings(chooseSystemCallFilter(info.filter, runtime.runtime), limits),
      ...(created.diskLimit === "watched"
        ? [
            "this engine's storage cannot enforce the sandbox's disk limit, so swarm watches the limit while a task runs",
          ]
        : []),
    ],
  };
}

async function findImage(
  { engine, languageImages, ensureBase }: CreateFromSpecDeps,
  { runtime }: SandboxSpec,
  onStep: (step: string) => void,
  signal?: AbortSignal,
): Promise<FoundImage> {
  const reference = runtime.kind === "image" ? runtime.image : languageImages[runtime.language];
  const { images } = await engine.open();
  if (reference === baseImage)
    return { id: await ensureBase(onStep, signal), reference: baseImage, warnings: [] };
  const present = await images.find(reference, signal);
  if (present) return { id: present.id, reference, warnings: [] };
  if (runtime.kind === "image" || (await engine.reachesRegistry(signal))) {
    onStep(`Pulling ${reference}`);
    const { id } = await findOrPullImage(engine, reference, signal);
    return { id, reference, warnings: [] };
  }
  const warning = `the engine cannot reach an image registry, so the sandbox uses the image ${baseImage} instead of ${reference}`;
  return { id: await ensureBase(onStep, signal), reference: baseImage, warnings: [warning] };
}

function recordOf(
  { clock, engine }: CreateFromSpecDeps,
  { spec, autoDestroy, id, image, runtime, limits }: PlannedSandbox,
): SandboxRecord {
  return {
    version: 1,
    id,
    sandbox: spec.name ?? id,
    status: "created",
    task: null,
    createdAt: clock().toISOString(),
    startedAt: null,
    completedAt: null,
    duration: null,
    exitCode: null,
    reason: null,
    ttl: autoDestroy ? spec.ttl : "none",
    ttlMs: autoDestroy ? spec.ttlMs : null,
    image: image.reference,
    runtime: spec.runtime.kind === "image" ? "image" : spec.runtime.language,
    isolation: { level: runtime.level, runtime: runtime.runtime },
    network: spec.network,
    container: null,
    engine: engine.endpoint,
    execution: null,
    missingOutputs: [],
    expectedOutputs: [...spec.outputs],
    limits: {
      cpus: limits.cpus,
      memoryBytes: limits.memoryBytes,
      diskBytes: limits.diskBytes,
      pids: limits.pids,
      files: limits.files,
    },
  };
}

/** Returns the limits of a spec, and for each limit that it does not set the given one. */
function limitsOf(limits: ContainerLimits, { resources }: SandboxSpec): ContainerLimits {
  return {
    ...limits,
    cpus: resources.cpus ?? limits.cpus,
    memoryBytes: resources.memoryBytes ?? limits.memoryBytes,
    diskBytes: resources.diskBytes ?? limits.diskBytes,
    pids: resources.pids ?? limits.pids,
  };
}

function containerSpecOf({ spec, autoDestroy, image, ...sandbox }: PlannedSandbox): ContainerSpec {
  const name = sandboxContainerName(sandbox.id);
  const ttlMs = autoDestroy ? spec.ttlMs : null;
  return {
    ...sandboxContainer({ ...sandbox, workdir: "/work", env: spec.env, ttlMs }),
    name,
    image: image.id,
    workdir: "/work",
    network: { kind: spec.network },
    readOnlyRoot: spec.readOnlyRoot,
    privileged: spec.privileged,
    // The engine copies no files into a read-only root filesystem, but it does copy files into volumes. So
    // the folders become volumes.
    volumes: spec.readOnlyRoot
      ? folders.map((folder) => ({ name: `${name}-${folder}`, path: `/${folder}` }))
      : [],
  };
}

/**
 * Creates the sandbox's folders in its container, and copies the input files. Root owns the folder `inputs`,
 * which is read-only; the sandbox's user owns the other folders.
 */
async function fill(
  { containers }: ConnectedEngine,
  { volumes }: ContainerSpec,
  id: string,
  inputs: readonly SandboxInputFile[],
  signal?: AbortSignal,
): Promise<void> {
  const entries = folders.map((folder): [string, EntryToPack[]] => [
    folder,
    folder === "inputs" ? inputEntries(inputs) : [{ ...userOwned, kind: "folder", path: ".", mode: 0o755 }],
  ]);
  if (volumes.length > 0) {
    for (const [folder, files] of entries)
      await containers.copyIn(id, `/${folder}`, packFiles(files), signal);
    return;
  }
  const all = entries.flatMap(([folder, files]) =>
    files.map((file) => ({ ...file, path: file.path === "." ? folder : `${folder}/${file.path}` })),
  );
  await containers.copyIn(id, "/", packFiles(all), signal);
}

const userOwned = { uid: 1000, gid: 1000 };
const rootOwned = { uid: 0, gid: 0 };

function inputEntries(inputs: readonly SandboxInputFile[]): EntryToPack[] {
  const above = new Set(inputs.flatMap(({ path }) => foldersAbove(path)));
  return [
    { ...rootOwned, kind: "folder", path: ".", mode: 0o555 },
    ...[...above].sort().map((path): EntryToPack => ({ ...rootOwned, kind: "folder", path, mode: 0o555 })),
    ...inputs.map(({ path, from }): EntryToPack => ({ ...rootOwned, kind: "file", path, mode: 0o444, from })),
  ];
}

function permissionWarnings({ permissions }: SandboxSpec): string[] {
  const { aws } = permissions;
  if (!aws) return [];
  return [
    `permissions.aws (${[aws.role, ...(aws.services ?? [])].filter(Boolean).join(", ")}) is recorded, but has no effect: the sandbox gets no AWS credentials`,
  ];
}

/** Returns a warning if the sandbox's system-call filter is weaker than swarm's default filter. */
function filterWarnings(filter: SystemCallFilter, limits: ContainerLimits): string[] {
  const isUsual = filter.kind === "ours" ? limits.programs32Bit !== true : filter.isEnough;
  return isUsual ? [] : [`system calls of the sandbox: ${describeSystemCallFilter(filter, limits)}`];
}

/**
 * Removes a container and its volumes. Uses a timeout of its own, because the caller's signal may already be
 * aborted.
 */
async function removeAll(
  { engine }: CreateFromSpecDeps,
  { name, volumes: mounted }: ContainerSpec,
): Promise<void> {
  const { containers, volumes } = await engine.open();
  const deadline = AbortSignal.timeout(undoMs);
  await containers.remove(name, deadline);
  for (const volume of mounted) await volumes.remove(volume.name, deadline);
}
