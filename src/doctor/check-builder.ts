import type { Finding } from "../contract/doctor.ts";
import type { EngineInfo } from "../engine/engine.ts";
import { finding } from "./finding.ts";

/** Returns the finding of `swarm doctor` about the program with which the engine builds images. */
export function checkBuilder({ builder }: Pick<EngineInfo, "builder">): Finding {
  return builder === "buildkit"
    ? finding("builder", "good", "BuildKit")
    : finding(
        "builder",
        "weak",
        "the engine has only the classic builder, which is slower and reads the whole build context for every build",
        "Use an engine that has BuildKit.",
      );
}
