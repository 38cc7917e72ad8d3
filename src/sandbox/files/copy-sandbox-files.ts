import { openProjectSandboxes, type SandboxProject } from "../open-project-sandboxes.ts";
import { type CopyRequest, copyBetweenHostAndSandbox } from "./copy-between-host-and-sandbox.ts";

/** Copies files between the user's current folder and a sandbox, and returns the paths. */
export async function copySandboxFiles(
  project: SandboxProject,
  request: CopyRequest,
  signal: AbortSignal,
): Promise<CopyRequest> {
  return copyBetweenHostAndSandbox(await openProjectSandboxes(project), request, project.host, signal);
}
