import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { strongerIsolation } from "../engine/rules/isolation.ts";
import { SwarmError } from "../errors/errors.ts";
import { ensureBaseImage } from "../images/ensure-base-image.ts";
import { imageBuildDeps } from "../images/open-images.ts";
import { adapterId } from "../machine/package-files.ts";
import type { Project } from "../project/project.ts";
import { requireTrustedSettings } from "../settings/read-settings.ts";
import type { CreateFromSpecDeps } from "./create-from-spec.ts";
import {
  type CreatedSandbox,
  type CreateFromSpecRequest,
  createSandboxFromSpec,
} from "./create-from-spec.ts";
import { openProjectSandboxes, type SandboxProject } from "./open-project-sandboxes.ts";
import { parseSandboxSpec } from "./parse-sandbox-spec.ts";
import { sandboxLimits } from "./sandbox-limits.ts";

interface UpSandboxRequest extends Pick<CreateFromSpecRequest, "allowed" | "autoDestroy"> {
  /** The path of the spec file; null for `sandbox.yaml`, which need not exist. */
  readonly specFile: string | null;
}

/** Creates a sandbox from a spec file, but does not start it. */
export async function upSandbox(
  project: SandboxProject & Pick<Project, "engines" | "host" | "settings">,
  { specFile, allowed, autoDestroy }: UpSandboxRequest,
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<CreatedSandbox> {
  const { file, bytes } = await readSpec(project.host.folder, specFile);
  const settings = requireTrustedSettings(await project.settings());
  const spec = await parseSandboxSpec(bytes, file);
  const isolation = strongerIsolation(spec.isolation, settings.isolation);
  const sandboxes = await openProjectSandboxes(project);
  const engine = await project.engines.first();
  const deps: CreateFromSpecDeps = {
    ...sandboxes,
    engine,
    probes: project.engines.probes,
    adapterId,
    newId: newSandboxId,
    limits: sandboxLimits(settings),
    languageImages: {
      python: settings["images.python"],
      node: settings["images.node"],
      bash: settings["images.bash"],
    },
    async ensureBase(onImageStep, aborted) {
      const build = { ...imageBuildDeps(project.host), engine };
      const report = { onStep: onImageStep, onEvent: () => {} };
      return (await ensureBaseImage(build, { agents: null, fresh: false }, report, aborted)).id;
    },
  };
  const specText = Buffer.from(bytes).toString();
  return createSandboxFromSpec(
    deps,
    { spec: { ...spec, isolation }, specText, allowed, autoDestroy },
    onStep,
    signal,
  );
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
