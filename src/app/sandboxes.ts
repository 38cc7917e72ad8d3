import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { SandboxOperations } from "../cli/composition.ts";
import type { SandboxRecord } from "../contract/sandbox-run.ts";
import type { ProjectRef } from "../contract/swarm-state.ts";
import type { ContainerLimits } from "../engine/containers.ts";
import type { ContainerEngine } from "../engine/engine.ts";
import { strongerIsolation } from "../engine/rules/isolation.ts";
import { SwarmError } from "../errors/errors.ts";
import { findRepository, type Repository } from "../git/find-repository.ts";
import type { ImageOperations } from "../images/image-operations.ts";
import type { Lock } from "../machine/lock.ts";
import type { EnvironmentVariables, UserFolders } from "../machine/user-folders.ts";
import type { CreateFromSpecDeps, ProjectSandboxDeps } from "../sandbox/project-sandboxes.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { parseSizeBytes } from "../text/duration-and-size.ts";
import { once } from "../text/once.ts";
import { adapterFile, adapterId, imagesFolder } from "./engine.ts";

export interface SandboxAndImageOperationsDeps {
  readonly env: EnvironmentVariables;
  readonly folder: string;
  readonly folders: UserFolders;
  readonly lockAt: (file: string) => Promise<Lock>;
  readonly clock: () => Date;
  readonly resolveSettings: () => Promise<Settings>;
  readonly openEngine: () => Promise<(endpoint: string) => ContainerEngine>;
  /** Returns the container engine in which new sandboxes and images are created. */
  readonly engine: () => Promise<ContainerEngine>;
  /**
   * Returns the endpoints of all container engines that the user's settings and environment variables name.
   */
  readonly knownEndpoints: () => Promise<readonly string[]>;
  readonly repository: () => Promise<Repository>;
  readonly project: () => Promise<ProjectRef>;
}

export interface SandboxAndImageOperations {
  readonly sandboxes: () => Promise<SandboxOperations>;
  readonly images: () => Promise<ImageOperations>;
  /** Returns the resource limits that the settings give to one sandbox. */
  readonly limits: () => Promise<ContainerLimits>;
}

/** Creates the operations on single sandboxes and on images, for `swarm sandbox` and `swarm image`. */
export function createSandboxAndImageOperations(
  deps: SandboxAndImageOperationsDeps,
): SandboxAndImageOperations {
  const { env, folder, folders, lockAt, clock } = deps;

  const imageDeps = once(async () => {
    const { imageSources } = await import("../images/image-sources.ts");
    const cacheFolder = join(folders.state, "downloads");
    return {
      engine: await deps.engine(),
      sources: imageSources({ env, imagesFolder, adapterFile, cacheFolder }),
      lock: await lockAt(join(folders.state, "image.lock")),
    };
  });

  const projectDeps = once(async (): Promise<ProjectSandboxDeps> => {
    const [{ openSandboxFolders }, { createRecordSeal }, { parseSandboxRecord }, openAt] = await Promise.all([
      import("../sandbox/sandbox-folders.ts"),
      import("../sandbox/record-seal.ts"),
      import("./read-document.ts"),
      deps.openEngine(),
    ]);
    const engines = new Map<string, ContainerEngine>();
    return {
      folders: openSandboxFolders({
        root: (await findRepository(folder))?.root ?? folder,
        ...{ folder, lockAt, clock, parseRecord: parseSandboxRecord, seal: createRecordSeal(folders.state) },
      }),
      clock,
      async engineAt(endpoint) {
        // Another user may have written the sandbox's folder and record. So the record must not choose an
        // engine that this user's settings do not name.
        if (!(await deps.knownEndpoints()).includes(endpoint))
          throw new SwarmError("ENGINE_UNREACHABLE", {
            tried: [`${endpoint}: a sandbox's record names this engine, but none of your settings does`],
          });
        const engine = engines.get(endpoint) ?? openAt(endpoint);
        engines.set(endpoint, engine);
        return engine;
      },
    };
  });

  const limits = async (): Promise<ContainerLimits> =>
    limitsOf(await deps.resolveSettings(), (await import("../sandbox/sandbox-defaults.ts")).defaultLimits);

  const bringUpDeps = async (): Promise<CreateFromSpecDeps> => {
    const [{ probeCache }, { parseProbe }, settings] = await Promise.all([
      import("../engine/probe-cache-file.ts"),
      import("./read-document.ts"),
      deps.resolveSettings(),
    ]);
    return {
      ...(await projectDeps()),
      engine: await deps.engine(),
      probes: probeCache(join(folders.state, "probes.json"), { parseProbe, clock }),
      adapterId,
      newId: newSandboxId,
      limits: await limits(),
      languageImages: {
        python: settings["images.python"],
        node: settings["images.node"],
        bash: settings["images.bash"],
      },
      ensureBase: async (onStep, signal) => {
        const { ensureBaseImage } = await import("../images/ensure-base-image.ts");
        const report = { onStep, onEvent: () => {} };
        return (await ensureBaseImage(await imageDeps(), { agents: null, fresh: false }, report, signal)).id;
      },
    };
  };

  const sandboxes = once(async (): Promise<SandboxOperations> => {
    const { findSandbox } = await import("../sandbox/running-sandbox.ts");
    return {
      async up({ specFile, allowed, autoDestroy }, onStep, signal) {
        const [{ createSandboxFromSpec }, { parseSandboxSpec }] = await Promise.all([
          import("../sandbox/create-from-spec.ts"),
          import("../sandbox/parse-sandbox-spec.ts"),
        ]);
        const { file, bytes } = await readSpec(folder, specFile);
        const settings = await deps.resolveSettings();
        const spec = await parseSandboxSpec(bytes, file);
        const isolation = strongerIsolation(spec.isolation, settings.isolation);
        return createSandboxFromSpec(
          await bringUpDeps(),
          { spec: { ...spec, isolation }, specText: Buffer.from(bytes).toString(), allowed, autoDestroy },
          onStep,
          signal,
        );
      },

      async run({ file, sandbox, onOutput }, signal) {
        const content = await readTask(folder, file);
        const { runTaskInSandbox } = await import("../sandbox/task/run-task.ts");
        const project = await projectDeps();
        const record = await findSandbox(project, sandbox);
        return runTaskInSandbox(project, { record, file, content, onOutput }, signal);
      },

      async exec({ command, sandbox, input, onOutput }, signal) {
        const [{ ensureSandboxRuns }, { runCommand }] = await Promise.all([
          import("../sandbox/running-sandbox.ts"),
          import("../sandbox/command/run-command.ts"),
        ]);
        const project = await projectDeps();
        const { containers, containerId } = await ensureSandboxRuns(
          project,
          await findSandbox(project, sandbox),
          signal,
        );
        const request = {
          containerId,
          command,
          onOutput,
          workdir: "/work",
          timeoutMs: null,
          outputLimit: 10_000,
        };
        return runCommand(containers, { ...request, ...(input && { input }) }, signal);
      },

      async copy(words, signal) {
        const { copyBetweenHostAndSandbox } = await import(
          "../sandbox/files/copy-between-host-and-sandbox.ts"
        );
        return copyBetweenHostAndSandbox(await projectDeps(), words, { folder }, signal);
      },

      async *logs({ sandbox, follow }, signal) {
        const project = await projectDeps();
        const { id } = await findSandbox(project, sandbox);
        yield* project.folders.readOutput(id, { follow }, signal);
      },

      async list() {
        const { listSandboxes } = await import("../sandbox/list-sandboxes.ts");
        return listSandboxes(await projectDeps());
      },

      async stats(sandbox, signal) {
        const { ensureSandboxRuns } = await import("../sandbox/running-sandbox.ts");
        const project = await projectDeps();
        const { containers, containerId } = await ensureSandboxRuns(
          project,
          await findSandbox(project, sandbox),
          signal,
        );
        const facts = await containers.inspect(containerId, { withDisk: true }, signal);
        return { ...(await containers.stats(containerId, signal)), diskBytes: facts?.diskBytes ?? null };
      },

      async destroy({ sandbox, all, purge }, onStep) {
        const { destroySandbox } = await import("../sandbox/destroy-sandbox.ts");
        const project = await projectDeps();
        const { records } = await project.folders.list();
        const isGone = ({ status }: SandboxRecord): boolean => status === "destroyed";
        const gone = purge
          ? records.filter((record) => isGone(record) && (all || record.id === sandbox))
          : [];
        for (const { id } of gone) await project.folders.clear(id, { everything: true });
        const targets = all
          ? records.filter((record) => !isGone(record))
          : gone.length > 0
            ? []
            : [await findSandbox(project, sandbox)];
        const destroyed = [...gone];
        for (const record of targets) {
          onStep(`Destroying ${record.id}`);
          destroyed.push(await destroySandbox(project, record, { purge }));
        }
        return destroyed;
      },
    };
  });

  const images = once(async (): Promise<ImageOperations> => {
    const { imageOperations } = await import("../images/image-operations.ts");
    const { createCommitReader } = await import("../git/commit-reader.ts");
    return imageOperations({
      ...(await imageDeps()),
      project: async () => {
        if (!(await findRepository(folder))) return null;
        const [{ id, slug }, { root }] = await Promise.all([deps.project(), deps.repository()]);
        return { id, slug, commits: createCommitReader(root) };
      },
    });
  });

  return { sandboxes, images, limits };
}

/**
 * Returns a random ID of eight characters that are safe in URLs, file names and commands. The ID never starts
 * with `-`, because a command would read it as a flag.
 */
function newSandboxId(): string {
  for (;;) {
    const id = randomBytes(6).toString("base64url");
    if (/^[A-Za-z0-9]/.test(id)) return id;
  }
}

function limitsOf(settings: Settings, defaults: ContainerLimits): ContainerLimits {
  const bytes = (text: string): number => parseSizeBytes(text) ?? 0;
  return {
    ...defaults,
    cpus: settings["limits.cpus"],
    memoryBytes: bytes(settings["limits.memory"]),
    swapBytes: bytes(settings["limits.swap"]),
    diskBytes: bytes(settings["limits.disk"]),
    pids: settings["limits.pids"],
    programs32Bit: settings["limits.programs32Bit"],
  };
}

/**
 * Reads the given sandbox spec file, or `sandbox.yaml` if `named` is null. If `sandbox.yaml` does not exist,
 * returns the default spec.
 */
async function readSpec(folder: string, named: string | null): Promise<{ file: string; bytes: Uint8Array }> {
  const file = named ?? "sandbox.yaml";
  try {
    return { file, bytes: await readFile(resolve(folder, file)) };
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (named === null && code === "ENOENT") return { file: "the default spec", bytes: Buffer.from("{}\n") };
    throw new SwarmError("FILE_UNREADABLE", { place: { file }, reason: code || String(error) }, error);
  }
}

const maxTaskBytes = 16 * 1024 * 1024;

async function readTask(folder: string, file: string): Promise<Uint8Array> {
  try {
    const content = await readFile(resolve(folder, file));
    if (content.length > maxTaskBytes)
      throw new SwarmError("TASK_MISSING", { file, reason: "the file is larger than 16 MiB" });
    return content;
  } catch (error) {
    if (error instanceof SwarmError) throw error;
    const { code = "" } = error as NodeJS.ErrnoException;
    const reason =
      code === "ENOENT" ? "the file does not exist" : code === "EISDIR" ? "the path is a folder" : code;
    throw new SwarmError("TASK_MISSING", { file, reason }, error);
  }
}
