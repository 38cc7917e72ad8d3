import type { WorkDiff } from "../../contract/work-diff.ts";
import { diffWork } from "../../git/diff-work.ts";
import type { SensitiveChanges, WorkChanges } from "../../git/work-repository-port.ts";
import type { Project } from "../../project/project.ts";
import { requireSwarmState, type StateAccess } from "../../state/find-state.ts";
import { findWorkerByArgument } from "../../state/rules/choose-workers.ts";
import { workerSlug } from "../../text/slugs.ts";

/** The changes that one worker made, as far as swarm has imported them into the repository. */
export type WorkerDiff =
  | (Pick<WorkDiff, "worker" | "base" | "ref"> & { readonly kind: "nothing" })
  | (Pick<WorkDiff, "worker" | "base" | "ref"> & {
      readonly kind: "work";
      readonly commit: string;
      /**
       * Yields the changes as git prints them: as a patch, or, if `stat` is true, as a list of changed files
       * with line counts.
       */
      patch(stat: boolean, signal: AbortSignal): AsyncIterable<Uint8Array>;
      changes(
        signal: AbortSignal,
      ): Promise<{ readonly changes: WorkChanges; readonly sensitive: SensitiveChanges }>;
    });

/** Returns the changes to the repository's files that one worker made. */
export async function diffWorker(
  project: StateAccess & Pick<Project, "git">,
  worker: string,
): Promise<WorkerDiff> {
  const record = findWorkerByArgument(await requireSwarmState(project), worker);
  const { baseCommit: base, collected } = record;
  const names = { worker: workerSlug(record), base, ref: collected?.ref ?? null };
  if (base === null || collected === null) return { kind: "nothing", ...names };
  const { commonFolder } = await project.repository();
  const { commit } = collected;
  return {
    kind: "work",
    ...names,
    commit,
    patch: (stat, signal) => diffWork(commonFolder, { base, tip: commit, stat }, signal),
    async changes(signal) {
      const work = await project.git.work();
      return {
        changes: await work.changes(base, commit, signal),
        sensitive: await work.sensitivePaths(base, commit, signal),
      };
    },
  };
}
