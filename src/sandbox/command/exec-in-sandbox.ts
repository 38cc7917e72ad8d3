import type { OutputChunk } from "../../engine/containers.ts";
import { openProjectSandboxes, type SandboxProject } from "../open-project-sandboxes.ts";
import { findRunningSandbox } from "../running-sandbox.ts";
import { type CommandResult, runCommand } from "./run-command.ts";

interface ExecInSandboxRequest {
  readonly command: readonly string[];
  /** The ID or name of the sandbox; null for the latest sandbox. */
  readonly sandbox: string | null;
  readonly input?: AsyncIterable<Uint8Array>;
  readonly onOutput: (chunk: OutputChunk) => Promise<void>;
}

/** Runs a command in a sandbox, and starts the sandbox first if it was not started yet. */
export async function execInSandbox(
  project: SandboxProject,
  { sandbox, ...request }: ExecInSandboxRequest,
  signal: AbortSignal,
): Promise<CommandResult> {
  const sandboxes = await openProjectSandboxes(project);
  return runCommand(
    await findRunningSandbox(sandboxes, sandbox, signal),
    { ...request, workdir: "/work", timeoutMs: null, outputLimit: 10_000 },
    signal,
  );
}
