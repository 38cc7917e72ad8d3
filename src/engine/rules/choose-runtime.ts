import {
  type IsolationLevel,
  isIsolationAtLeast,
  preferredRuntimes,
  type RuntimeIsolation,
} from "./isolation.ts";

/** The result of measuring a container runtime's isolation, or the reason why the measurement failed. */
export type IsolationMeasurement =
  | { readonly kind: "measured"; readonly found: RuntimeIsolation }
  | { readonly kind: "failed"; readonly reason: string };

export type RuntimeChoice =
  | {
      readonly kind: "chosen";
      readonly runtime: string;
      readonly level: IsolationLevel;
      readonly evidence: string;
      /** The runtimes that were tried before the chosen one and rejected, each with the reason. */
      readonly rejectedRuntimes: readonly string[];
    }
  | { readonly kind: "none"; readonly found: readonly string[] };

/**
 * Chooses the first container runtime in `order` that has at least the isolation level `wanted` and in which
 * all tools of an agent work. If there is none and the user demands a level, the tools need not all work.
 * Never chooses a runtime that has a false name or lacks confinement.
 */
export function chooseRuntime(
  wanted: "auto" | IsolationLevel,
  measurements: ReadonlyMap<string, IsolationMeasurement>,
  order: readonly string[] = preferredRuntimes,
): RuntimeChoice {
  const rejectedRuntimes: string[] = [];
  let unusable: Extract<RuntimeChoice, { kind: "chosen" }> | null = null;
  for (const runtime of order) {
    const measurement = measurements.get(runtime);
    if (!measurement) continue;
    const refusal = refusalOf(wanted, measurement);
    if (refusal === null && measurement.kind === "measured") {
      const { level, evidence, unusable: failing } = measurement.found;
      const rejected = [...rejectedRuntimes];
      const choice = { kind: "chosen", runtime, level, evidence, rejectedRuntimes: rejected } as const;
      if (failing.length === 0) return choice;
      unusable ??= choice;
      rejectedRuntimes.push(`${runtime}: some tools that agents use fail in this runtime (${failing[0]})`);
    } else rejectedRuntimes.push(`${runtime}: ${refusal}`);
  }
  // If the user demands a level, accept a runtime in which some of an agent's tools fail. With `auto`, do not.
  return wanted !== "auto" && unusable ? unusable : { kind: "none", found: rejectedRuntimes };
}

function refusalOf(wanted: "auto" | IsolationLevel, measurement: IsolationMeasurement): string | null {
  if (measurement.kind === "failed") return measurement.reason;
  const { level, falseName, unconfined } = measurement.found;
  if (falseName !== null) return falseName;
  if (unconfined.length > 0) return unconfined.join("; ");
  if (wanted !== "auto" && !isIsolationAtLeast(level, wanted))
    return `the runtime provides only the isolation level ${level}`;
  return null;
}
