import type { ConnectedEngine } from "../engine/engine.ts";
import { SwarmError } from "../errors/errors.ts";
import { findRepository } from "../git/find-repository.ts";
import type { Project } from "../project/project.ts";
import { openSandboxFolders } from "./sandbox-folders.ts";
import type { SandboxFolders } from "./sandbox-folders-port.ts";
import { createRecordSeal } from "./sandbox-records.ts";

/**
 * What every operation on the sandboxes of a folder needs: the records in `.aimi/sandboxes`, and the engine
 * of each sandbox.
 */
export interface ProjectSandboxDeps {
  readonly folders: SandboxFolders;
  readonly clock: () => Date;
  /** Connects to the container engine at the endpoint that a sandbox's record contains. */
  readonly connect: (endpoint: string) => Promise<ConnectedEngine>;
}

/** The parts of a project that every command on single sandboxes uses. */
export type SandboxProject = Pick<Project, "engines" | "host">;

/** Opens the single sandboxes of a repository, or of the user's current folder outside of a repository. */
export async function openProjectSandboxes({
  host: { folder, folders, clock, locks },
  engines,
}: SandboxProject): Promise<ProjectSandboxDeps> {
  return {
    folders: openSandboxFolders({
      root: (await findRepository(folder))?.root ?? folder,
      folder,
      seal: createRecordSeal(folders.state),
      lockAt: locks.at,
      clock,
    }),
    clock,
    async connect(endpoint) {
      // Another user may have written the sandbox's folder and record. So the record must not choose an
      // engine that this user's settings do not name.
      const known = await engines.candidates();
      if (!known.some((candidate) => candidate.endpoint === endpoint))
        throw new SwarmError("ENGINE_UNREACHABLE", {
          tried: [`${endpoint}: a sandbox's record names this engine, but none of your settings does`],
        });
      return (await engines.at(endpoint)).open();
    },
  };
}
