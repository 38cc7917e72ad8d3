import type { RanCheck } from "../../contract/merge.ts";
import type { ContainerLimits } from "../../engine/containers.ts";
import { type ContainerEngine, labels } from "../../engine/engine.ts";
import type { CommitReader } from "../../git/commit-reader-port.ts";
import type { WorkRepository } from "../../git/work-repository-port.ts";
import type { Project } from "../../project/project.ts";
import type { SwarmState } from "../../state/rules/swarm-state.ts";
import { nameOfCheckContainer } from "../../state/rules/worker-container-name.ts";
import { checkCommit } from "./check-commit.ts";

/**
 * Runs check commands, one after another, on the files of the given commit in a new sandbox. Returns the
 * result of each command that ran.
 */
export type RunCommitChecks = (
  commit: string,
  commands: readonly string[],
  signal: AbortSignal,
) => Promise<RanCheck[]>;

export interface CommitCheckerInput {
  readonly state: Pick<SwarmState, "swarmId" | "project">;
  readonly work: Pick<WorkRepository, "isAncestor">;
  readonly commits: CommitReader;
  readonly engine: ContainerEngine;
  readonly runtime: string;
  readonly image: string;
  /** The resource limits of each check's sandbox. */
  readonly limits: ContainerLimits;
}

/**
 * Returns a function that runs checks on commits of the given swarm. First removes the check containers that
 * earlier, killed owners left behind.
 */
export async function openCommitChecker(
  { repository, host: { crashPoint } }: Pick<Project, "host" | "repository">,
  { state: { swarmId, project }, work, commits, engine, runtime, image, limits }: CommitCheckerInput,
  signal: AbortSignal,
): Promise<RunCommitChecks> {
  const [{ containers }, { worktree }, imageCommit] = await Promise.all([
    engine.open(),
    repository(),
    commits.head(),
  ]);
  const own = { [labels.swarm]: swarmId, [labels.role]: "check" };
  const found = await engine.listContainers({ projectId: project.id, worktree }, signal);
  for (const { containerId, labels: theirs } of found)
    if (Object.entries(own).every(([name, value]) => theirs[name] === value))
      await containers.remove(containerId, signal);
  const sandboxes = {
    containers,
    commits,
    image,
    runtime,
    limits,
    imageCommit,
    isInImage: async (commit: string) => imageCommit !== null && work.isAncestor(commit, imageCommit),
    labels: {
      [labels.sandbox]: "true",
      [labels.project]: project.id,
      [labels.worktree]: worktree,
      ...own,
    },
    crashPoint,
  };
  const taken = new Set<number>();
  return async (commit, commands, ending) => {
    let place = 1;
    while (taken.has(place)) place += 1;
    taken.add(place);
    const name = nameOfCheckContainer({ projectId: project.id, swarmId, place });
    try {
      return await checkCommit(sandboxes, name, commit, commands, ending);
    } finally {
      taken.delete(place);
    }
  };
}
