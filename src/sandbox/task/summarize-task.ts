import type { SandboxRecord } from "../../contract/sandbox-run.ts";
import type { SandboxSummary } from "../../contract/sandbox-summary.ts";
import { SwarmError } from "../../errors/errors.ts";
import { BoundedText } from "../../text/bounded-text.ts";
import type { SandboxFolders } from "../sandbox-folders-port.ts";
import type { CollectedSandboxFiles } from "./collect-files.ts";

const shownCharacters = 10_000;

/**
 * Returns the error OUTPUTS_INCOMPLETE if the task succeeded but some of its outputs could not be copied to
 * the host; else null. For a failed task, the error of the task itself is reported instead.
 */
export function findOutputsProblem(
  exitCode: number | null,
  { outputsMissed }: Pick<CollectedSandboxFiles, "outputsMissed">,
): SwarmError<"OUTPUTS_INCOMPLETE"> | null {
  if (exitCode !== 0 || outputsMissed === null) return null;
  return new SwarmError("OUTPUTS_INCOMPLETE", outputsMissed);
}

/**
 * Summarizes a sandbox's task from the sandbox's record, the files copied to the host and the stored output.
 */
export async function summarizeTask(
  folders: Pick<SandboxFolders, "readOutput">,
  record: SandboxRecord,
  collected: CollectedSandboxFiles | null,
): Promise<SandboxSummary> {
  const texts = { stdout: new BoundedText(shownCharacters), stderr: new BoundedText(shownCharacters) };
  for await (const { stream, bytes } of folders.readOutput(record.id, { follow: false }))
    texts[stream].add(bytes);
  return {
    ...{ sandboxId: record.id, task: record.task, exitCode: record.exitCode, durationMs: record.duration },
    ...{ stdout: texts.stdout.finish().text, stderr: texts.stderr.finish().text },
    outputFiles: [...(collected?.outputFiles ?? [])],
    missingOutputs: [...record.missingOutputs],
    leftOut: [...(collected?.leftOut ?? [])],
    missed: [...(collected?.missed ?? [])],
    more: collected?.more ?? { outputFiles: 0, leftOut: 0, missed: 0 },
    ...{ startedAt: record.startedAt, completedAt: record.completedAt, reason: record.reason },
    status: record.status === "completed" || record.status === "timeout" ? record.status : "failed",
  };
}
