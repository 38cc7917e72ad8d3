import { join } from "node:path";
import type { SwarmSummary } from "../../contract/summary.ts";
import type { Project } from "../../project/project.ts";
import { findAdapterMessageProblem } from "../../schema/find-message-problem.ts";
import type { SwarmState } from "../../state/rules/swarm-state.ts";
import { readAcceptedTask } from "../../tasks/load-tasks.ts";
import { openMergeReportFile } from "../merge/merge-report-file.ts";
import { proofFiles } from "../merge/proof-files.ts";
import { readWorkerFactsFromJournals } from "./read-worker-facts.ts";
import { summarizeSwarm } from "./summarize-swarm.ts";

/** The parts of a project from which a command summarizes a swarm. */
export type SummaryAccess = Pick<Project, "git" | "host" | "repository" | "state" | "tasks">;

/** Returns the summary of this worktree's swarm with the given state. */
export async function summarizeState(project: SummaryAccess, state: SwarmState): Promise<SwarmSummary> {
  const [{ root }, tasks, work, owner] = await Promise.all([
    project.repository(),
    project.tasks.folder(),
    project.git.work(),
    project.state.owner(),
  ]);
  return summarizeSwarm(
    {
      work,
      clock: project.host.clock,
      readTask: async (path) => (await readAcceptedTask(tasks, path))?.taskFile ?? null,
      async isOwned() {
        const holder = await owner.holder();
        return holder !== null && holder.pid !== process.pid;
      },
      readProof: (swarmId, slug) => proofFiles({ root, swarmId }).findProof(slug),
      readMerge: (swarmId) => openMergeReportFile(root).read(swarmId),
      readFacts: (swarmId, slug) =>
        readWorkerFactsFromJournals(join(root, ".aimi", "swarms", swarmId, slug), findAdapterMessageProblem),
    },
    state,
  );
}
