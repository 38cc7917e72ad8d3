import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, and the longest of them first: one that begins last goes on when all others have ended. */
const slowest: readonly string[] = [
  ...["swarm-schedule", "adapter-processes", "sandbox-outputs", "swarm-proof", "real-agents", "swarm-crash"],
  ...["swarm-halt", "swarm-merge", "adapter-kills", "adapter-stops", "adapter-tampering", "swarm-claude"],
  ...["adapter-lines", "adapter-leftovers", "carry-out", "sandbox-endings", "adapter-preparations"],
  ...["stuck-container", "swarm-night", "swarm-start", "project-images", "swarm-steer", "swarm-gateway"],
  ...["swarm-demo", "adapter-errors", "private-engine", "gateway-egress", "sandbox-commands"],
  ...["swarm-survival", "package-managers", "daemon-gone", "state-chaos", "command-line", "swarm-run"],
];

/** Groups one after the other, and within each the slowest file first. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = slowest.indexOf(basename(moduleId, ".test.ts"));
      return at < 0 ? slowest.length : at;
    };
    const group = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    return files.toSorted((a, b) => group(a) - group(b) || place(a) - place(b));
  }
}
