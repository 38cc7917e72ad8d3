import type { Finding } from "../contract/doctor.ts";
import type { ContainerEngine, EngineInfo } from "../engine/engine.ts";
import { judgeRuntimeIsolation, preferredRuntimes } from "../engine/rules/isolation.ts";
import { SwarmError } from "../errors/errors.ts";
import { checkEngineComponentVersions } from "./check-component-versions.ts";
import { checkSystemCallFilters } from "./check-system-call-filters.ts";
import { asFinding, good, weak } from "./finding.ts";

/** An engine that answers, with what it reports about itself. */
export interface DiagnosedEngine {
  readonly engine: ContainerEngine;
  readonly info: EngineInfo;
}

/** Returns the findings of `swarm doctor` about an engine: its builder, its runtimes and its registry. */
export async function diagnoseEngine(
  { engine, info }: DiagnosedEngine,
  programs32Bit: boolean,
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<Finding[]> {
  const runtimes = [
    ...preferredRuntimes.filter((runtime) => info.runtimes.includes(runtime)),
    ...info.runtimes.filter((runtime) => !preferredRuntimes.includes(runtime)),
  ];
  onStep(
    `Checking how strongly ${runtimes.join(" and ")} isolate containers, and whether the engine reaches an image registry`,
  );
  const [reachesRegistry, versions, ...isolation] = await Promise.all([
    engine.reachesRegistry(signal),
    engine
      .listComponents(signal)
      .then((parts) => checkEngineComponentVersions(parts, runtimes), asFinding("versions", "weak")),
    ...runtimes.map((runtime) => checkRuntime({ engine, info }, runtime, signal)),
  ]);
  return [
    info.builder === "buildkit"
      ? good("builder", "BuildKit")
      : weak(
          "builder",
          "the engine has only the classic builder, which is slower and reads the whole build context for every build",
          "Use an engine that has BuildKit.",
        ),
    ...isolation,
    checkSystemCallFilters({ filter: info.filter, runtimes }, { programs32Bit }),
    versions,
    reachesRegistry
      ? good("registry", "the engine reaches an image registry")
      : weak("registry", "the engine cannot reach an image registry", null),
  ];
}

/** Returns the finding about one container runtime: how strongly it isolates containers. */
async function checkRuntime(
  { engine, info }: DiagnosedEngine,
  runtime: string,
  signal: AbortSignal,
): Promise<Finding> {
  const subject = `runtime ${runtime}`;
  try {
    const probe = await engine.probe(runtime, signal);
    const { level, evidence, ...faults } = judgeRuntimeIsolation(runtime, probe, info.kernel);
    const fact = `${level}: ${evidence}`;
    if (faults.falseName)
      return weak(
        subject,
        `${fact}. It is ${faults.falseName}`,
        `Do not rely on this runtime: remove ${runtime} from the engine's runtimes, or install the real ${runtime}.`,
      );
    if (faults.unconfined.length > 0)
      return weak(
        subject,
        `${fact}; not confined: ${faults.unconfined.join("; ")}`,
        "Use another runtime or engine.",
      );
    if (faults.unusable.length > 0)
      return weak(subject, `${fact}; not usable: ${faults.unusable.join("; ")}`, "Use another runtime.");
    return good(subject, fact);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof SwarmError)) throw error;
    return weak(
      subject,
      `the runtime's isolation could not be measured: ${error.message}`,
      "Read the engine's log, or remove the runtime from the engine's configuration.",
    );
  }
}
