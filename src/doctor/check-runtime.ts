import type { Finding } from "../contract/doctor.ts";
import type { ContainerEngine, EngineInfo } from "../engine/engine.ts";
import { judgeRuntimeIsolation } from "../engine/rules/isolation.ts";
import { SwarmError } from "../errors/errors.ts";
import { finding } from "./finding.ts";

/** Returns the finding of `swarm doctor` about one container runtime: how strongly it isolates containers. */
export async function checkRuntime(
  engine: Pick<ContainerEngine, "probe">,
  runtime: string,
  { kernel }: Pick<EngineInfo, "kernel">,
  signal?: AbortSignal,
): Promise<Finding> {
  const subject = `runtime ${runtime}`;
  try {
    const probe = await engine.probe(runtime, signal);
    const { level, evidence, falseName, unconfined, unusable } = judgeRuntimeIsolation(
      runtime,
      probe,
      kernel,
    );
    const fact = `${level}: ${evidence}`;
    if (falseName)
      return finding(
        subject,
        "weak",
        `${fact}. It is ${falseName}`,
        `Do not rely on this runtime: remove ${runtime} from the engine's runtimes, or install the real ${runtime}.`,
      );
    if (unconfined.length > 0)
      return finding(
        subject,
        "weak",
        `${fact}; not confined: ${unconfined.join("; ")}`,
        "Use another runtime or engine.",
      );
    if (unusable.length > 0)
      return finding(subject, "weak", `${fact}; not usable: ${unusable.join("; ")}`, "Use another runtime.");
    return finding(subject, "good", fact);
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof SwarmError)) throw error;
    return finding(
      subject,
      "weak",
      `the runtime's isolation could not be measured: ${error.message}`,
      "Read the engine's log, or remove the runtime from the engine's configuration.",
    );
  }
}
