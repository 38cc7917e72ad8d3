import type { SandboxRecord } from "../../contract/sandbox-run.ts";
import type { SandboxSummary } from "../../contract/sandbox-summary.ts";
import { SwarmError } from "../../errors/errors.ts";
import { BoundedText } from "../../text/bounded-text.ts";
import type { ProjectSandboxDeps } from "../open-project-sandboxes.ts";
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
 * Records the end of a sandbox's task, with a summary of the task. The caller has copied the task's files to
 * the host.
 */
export async function recordTaskEnd(
  { folders, clock }: ProjectSandboxDeps,
  record: SandboxRecord,
  end: Pick<SandboxRecord, "status" | "exitCode" | "reason">,
  collected: CollectedSandboxFiles,
): Promise<{ readonly record: SandboxRecord; readonly summary: SandboxSummary }> {
  const completedAt = clock().toISOString();
  const ended: SandboxRecord = {
    ...record,
    ...end,
    completedAt,
    execution: null,
    missingOutputs: [...collected.missingOutputs],
    duration: record.startedAt === null ? null : Date.parse(completedAt) - Date.parse(record.startedAt),
  };
  const summary = await summarizeTask(folders, ended, collected);
  await folders.writeSummary(summary);
  await folders.write(ended);
  await folders.logEvent(record.id, { event: "task-ended", ...end });
  return { record: ended, summary };
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
    sandboxId: record.id,
    task: record.task,
    exitCode: record.exitCode,
    durationMs: record.duration,
    stdout: texts.stdout.finish().text,
    stderr: texts.stderr.finish().text,
    outputFiles: [...(collected?.outputFiles ?? [])],
    missingOutputs: [...record.missingOutputs],
    leftOut: [...(collected?.leftOut ?? [])],
    missed: [...(collected?.missed ?? [])],
    more: collected?.more ?? { outputFiles: 0, leftOut: 0, missed: 0 },
    startedAt: record.startedAt,
    completedAt: record.completedAt,
    reason: record.reason,
    status: record.status === "completed" || record.status === "timeout" ? record.status : "failed",
  };
}
