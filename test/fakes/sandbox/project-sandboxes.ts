import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { SandboxRecord } from "../../../src/contract/sandbox-run.ts";
import type { ContainerEngine } from "../../../src/engine/engine.ts";
import { probeCache } from "../../../src/engine/probe-cache.ts";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import { kernelLock } from "../../../src/machine/locks/kernel-lock.ts";
import type { CreateFromSpecDeps } from "../../../src/sandbox/create-from-spec.ts";
import { createSandboxFromSpec } from "../../../src/sandbox/create-from-spec.ts";
import { type SandboxSpec, toSandboxSpec } from "../../../src/sandbox/rules/sandbox-spec.ts";
import { defaultLimits } from "../../../src/sandbox/sandbox-defaults.ts";
import { openSandboxFolders } from "../../../src/sandbox/sandbox-folders.ts";
import { createRecordSeal } from "../../../src/sandbox/sandbox-records.ts";

/** Single sandboxes of a folder on a real engine that has the base image, as the product composes them. */
export function sandboxesAt(
  folder: string,
  { engine, stateFolder }: { readonly engine: ContainerEngine; readonly stateFolder: string },
): CreateFromSpecDeps {
  const clock = (): Date => new Date();
  return {
    engine,
    connect: () => engine.open(),
    clock,
    folders: openSandboxFolders({
      root: folder,
      folder,
      clock,
      seal: createRecordSeal(stateFolder),
      lockAt: (file) => kernelLock(file, "swarm test"),
    }),
    probes: probeCache(join(stateFolder, "probes.json"), { clock }),
    adapterId: async () => "test",
    newId: () => `t${randomBytes(6).toString("base64url").slice(1)}`,
    limits: defaultLimits,
    languageImages: { python: baseImage, node: baseImage, bash: baseImage },
    ensureBase: async () => (await (await engine.open()).images.find(baseImage))?.id ?? "",
  };
}

/** A sandbox of a spec that says only what matters to a test. */
export async function up(deps: CreateFromSpecDeps, spec: Partial<SandboxSpec> = {}): Promise<SandboxRecord> {
  const { record } = await createSandboxFromSpec(
    deps,
    { spec: { ...toSandboxSpec({}), ...spec }, specText: "{}\n", allowed: [], autoDestroy: true },
    () => {},
  );
  return record;
}
