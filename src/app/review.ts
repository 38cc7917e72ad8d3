import { dirname, join } from "node:path";
import type { ReviewOperations } from "../cli/composition.ts";
import type { KeptEvent } from "../contract/event.ts";
import type { SwarmSummary } from "../contract/summary.ts";
import type { TaskFile } from "../contract/tasks.ts";
import { createEventFilter } from "../events/rules/event-filter.ts";
import type { Repository } from "../git/find-repository.ts";
import type { Lock } from "../machine/lock.ts";
import type { DocumentParsers } from "../settings/located-document.ts";
import { findWorkerByArgument } from "../state/rules/choose-workers.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import { nullIfStateInvalid } from "../state/state-store-port.ts";
import type { TaskFolder } from "../tasks/project-files-port.ts";
import { workerSlug } from "../text/slugs.ts";

export interface ReviewOperationsDeps {
  readonly clock: () => Date;
  readonly repository: () => Promise<Repository>;
  /**
   * Reads the state file of this worktree's swarm; returns null if there is none. Throws PROJECT_MOVED if
   * the file belongs to another project.
   */
  readonly findState: () => Promise<SwarmState | null>;
  /** Reads the state file of this worktree's swarm; throws STATE_MISSING if there is none. */
  readonly state: () => Promise<SwarmState>;
  readonly ownerLock: () => Promise<Lock>;
  readonly taskDeps: () => Promise<{ readonly folder: TaskFolder; readonly parsers: DocumentParsers }>;
}

/**
 * Creates the operations for reviewing a swarm: reading its events, its summary and a worker's diff, and
 * notifying the user.
 */
export function createReviewOperations(deps: ReviewOperationsDeps): ReviewOperations {
  const readTask = async (path: string): Promise<TaskFile | null> => {
    const { readAcceptedTask } = await import("../tasks/load-tasks.ts");
    return (await readAcceptedTask(await deps.taskDeps(), path))?.taskFile ?? null;
  };

  const isOwned = async (): Promise<boolean> => {
    const holder = await (await deps.ownerLock()).holder();
    return holder !== null && holder.pid !== process.pid;
  };

  const workRepositoryHere = async () => {
    const { workRepository } = await import("../git/work-repository.ts");
    return workRepository({ commonFolder: (await deps.repository()).commonFolder });
  };

  return {
    async events({ follow, ...choice }, signal) {
      const [{ eventReader }, { resolveSwarmFile }, { root }] = await Promise.all([
        import("../events/event-reader.ts"),
        import("../machine/path-containment.ts"),
        deps.repository(),
      ]);
      const folder = dirname(await resolveSwarmFile(root, "events.ndjson"));
      // Events stay readable even if the state is invalid.
      const state = await deps.findState().catch(nullIfStateInvalid);
      const reader = eventReader(folder);
      return chosen(
        follow ? reader.follow(signal) : reader.read(),
        createEventFilter(state, choice, deps.clock()),
      );
    },

    summary,

    async notify(command, occasion) {
      try {
        const [{ createNotice }, { runNotifier }, { root }] = await Promise.all([
          import("../swarm/report/rules/notice.ts"),
          import("../swarm/report/run-notifier.ts"),
          deps.repository(),
        ]);
        return await runNotifier(root, command, createNotice(await summary(), occasion));
      } catch (error) {
        return error instanceof Error ? error.message : String(error);
      }
    },

    async diff(word) {
      const record = findWorkerByArgument(await deps.state(), word);
      const { baseCommit: base, collected } = record;
      const names = { worker: workerSlug(record), base, ref: collected?.ref ?? null };
      if (base === null || collected === null) return { kind: "nothing", ...names };
      const { commit } = collected;
      return {
        ...{ kind: "work", ...names, commit },
        async *patch(stat, signal) {
          const { diffWork } = await import("../git/diff-work.ts");
          yield* diffWork((await deps.repository()).commonFolder, { base, tip: commit, stat }, signal);
        },
        async changes(signal) {
          const work = await workRepositoryHere();
          return {
            changes: await work.changes(base, commit, signal),
            sensitive: await work.sensitivePaths(base, commit, signal),
          };
        },
      };
    },
  };

  async function summary(): Promise<SwarmSummary> {
    const [{ summarizeSwarm }, { readWorkerFactsFromJournals }, { findAdapterMessageProblem }, { root }] =
      await Promise.all([
        import("../swarm/report/summarize-swarm.ts"),
        import("../swarm/report/read-worker-facts.ts"),
        import("../schema/find-message-problem.ts"),
        deps.repository(),
      ]);
    const folder = join(root, ".aimi", "swarms");
    const [{ openMergeReportFile }, { proofFiles }, { isMergeReport, isProofReport }] = await Promise.all([
      import("../swarm/merge/merge-report-file.ts"),
      import("../swarm/merge/proof-files.ts"),
      import("./read-document.ts"),
    ]);
    return summarizeSwarm(
      {
        ...{ readTask, isOwned, clock: deps.clock, work: await workRepositoryHere() },
        readProof: (swarmId, slug) => proofFiles({ root, swarmId }, isProofReport).findProof(slug),
        readMerge: (swarmId) => openMergeReportFile(root, isMergeReport).read(swarmId),
        readFacts: (swarmId, slug) =>
          readWorkerFactsFromJournals(join(folder, swarmId, slug), findAdapterMessageProblem),
      },
      await deps.state(),
    );
  }
}

async function* chosen(
  events: AsyncIterable<KeptEvent>,
  isWanted: (event: KeptEvent) => boolean,
): AsyncGenerator<KeptEvent> {
  for await (const event of events) if (isWanted(event)) yield event;
}
