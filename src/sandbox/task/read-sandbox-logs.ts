import type { OutputChunk } from "../../engine/containers.ts";
import { openProjectSandboxes, type SandboxProject } from "../open-project-sandboxes.ts";
import { findSandbox } from "../running-sandbox.ts";

interface ReadSandboxLogsRequest {
  /** The ID or name of the sandbox; null for the latest sandbox. */
  readonly sandbox: string | null;
  readonly follow: boolean;
}

/** Reads the stored stdout and stderr of a sandbox's last task, in the order of their writing. */
export async function* readSandboxLogs(
  project: SandboxProject,
  { sandbox, follow }: ReadSandboxLogsRequest,
  signal: AbortSignal,
): AsyncIterable<OutputChunk> {
  const sandboxes = await openProjectSandboxes(project);
  const { id } = await findSandbox(sandboxes, sandbox);
  yield* sandboxes.folders.readOutput(id, { follow }, signal);
}
