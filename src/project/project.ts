import type { ProjectRef } from "../contract/swarm-state.ts";
import type { Engines } from "../engine/engines.ts";
import type { Repository } from "../git/find-repository.ts";
import type { ProjectGit } from "../git/project-git.ts";
import type { ImageOperations } from "../images/image-operations.ts";
import type { Host } from "../machine/host.ts";
import type { ReadSettings } from "../settings/read-settings.ts";
import type { TrustFile } from "../settings/trust-file.ts";
import type { ProjectState } from "../state/find-state.ts";
import type { ProjectTasks } from "../tasks/project-tasks.ts";

/**
 * Everything that one command works with. Each part is opened when the command first asks for it, and at most
 * once. A use case asks for the parts that it needs: `Pick<Project, "state" | "settings">`.
 */
export interface Project {
  readonly host: Host;
  readonly engines: Engines;
  readonly tasks: ProjectTasks;
  readonly git: ProjectGit;
  readonly state: ProjectState;
  /** Returns the git repository of the folder; throws NOT_A_REPOSITORY if the folder is outside of any. */
  repository(): Promise<Repository>;
  /** Returns the project's ID, name and folder. The first call for a project creates the ID. */
  identity(): Promise<ProjectRef>;
  settings(): Promise<ReadSettings>;
  trust(): Promise<TrustFile>;
  images(): Promise<ImageOperations>;
}
