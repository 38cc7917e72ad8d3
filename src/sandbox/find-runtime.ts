import { createHash } from "node:crypto";
import type { ContainerEngine, EngineInfo } from "../engine/engine.ts";
import type { ProbeCache } from "../engine/probe-cache.ts";
import { baseImage } from "../engine/rules/base-image.ts";
import {
  chooseRuntime,
  type IsolationMeasurement,
  type RuntimeChoice,
} from "../engine/rules/choose-runtime.ts";
import { type IsolationLevel, judgeRuntimeIsolation, preferredRuntimes } from "../engine/rules/isolation.ts";
import { SwarmError } from "../errors/errors.ts";
import { adapterId } from "../machine/package-files.ts";
import type { Project } from "../project/project.ts";
import type { Settings } from "../settings/rules/settings.ts";

export interface FindRuntimeDeps {
  readonly engine: ContainerEngine;
  readonly probes: ProbeCache;
  /**
   * Returns the checksum of the adapter program, which measures the isolation of a runtime. The checksum is
   * part of the cache key, because another version of the adapter may measure other properties.
   */
  readonly adapterId: () => Promise<string>;
}

/** Finds a container runtime with at least the isolation level that the settings require. */
export async function findSandboxRuntime(
  { engines: { probes } }: Pick<Project, "engines">,
  engine: ContainerEngine,
  { isolation }: Pick<Settings, "isolation">,
  signal: AbortSignal,
): Promise<FoundRuntime> {
  return findRuntime({ engine, probes, adapterId }, isolation, signal);
}

export type FoundRuntime = Extract<RuntimeChoice, { kind: "chosen" }>;

/**
 * Returns the best of the engine's runtimes that isolates at least as strongly as `wanted`, according to
 * measurements. If there is none, throws ISOLATION_UNAVAILABLE with the measurements, and never uses a weaker
 * runtime.
 */
export async function findRuntime(
  deps: FindRuntimeDeps,
  wanted: "auto" | IsolationLevel,
  signal?: AbortSignal,
): Promise<FoundRuntime> {
  const info = await deps.engine.info(signal);
  const measurements = new Map<string, IsolationMeasurement>();
  let choice: RuntimeChoice = { kind: "none", found: [] };
  for (const runtime of preferredRuntimes) {
    if (!info.runtimes.includes(runtime)) continue;
    const measurement = await measure(deps, info, runtime, signal);
    measurements.set(runtime, measurement);
    choice = chooseRuntime(wanted, measurements);
    // Continues if agents' tools fail in the chosen runtime, because a later runtime may be fully usable.
    const isUsable = measurement.kind === "measured" && measurement.found.unusable.length === 0;
    if (choice.kind === "chosen" && choice.runtime === runtime && isUsable) return choice;
  }
  if (choice.kind === "chosen") return choice;
  throw new SwarmError("ISOLATION_UNAVAILABLE", { wanted, found: choice.found });
}

async function measure(
  { engine, probes, adapterId: readAdapterId }: FindRuntimeDeps,
  info: EngineInfo,
  runtime: string,
  signal?: AbortSignal,
): Promise<IsolationMeasurement> {
  const { images } = await engine.open();
  const subject = [info.id, info.version, info.kernel, runtime, await readAdapterId()];
  const base = await images.find(baseImage, signal);
  const key = createHash("sha256")
    .update(JSON.stringify([...subject, base?.id ?? null]))
    .digest("hex");
  try {
    let probe = await probes.find(key);
    if (!probe) {
      probe = await engine.probe(runtime, signal);
      await probes.store(key, probe);
    }
    return { kind: "measured", found: judgeRuntimeIsolation(runtime, probe, info.kernel) };
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof SwarmError) || error.code === "ENGINE_UNREACHABLE") throw error;
    return { kind: "failed", reason: error.message };
  }
}
