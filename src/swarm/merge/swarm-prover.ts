import type { WorkRepository } from "../../git/work-repository-port.ts";
import type { Project } from "../../project/project.ts";
import { findTestCommandAtHead } from "../../tasks/test-command-at-head.ts";
import { once } from "../../text/once.ts";
import type { ProveResult } from "../worker/owner-services.ts";
import { type CommitCheckerInput, openCommitChecker } from "./open-commit-checker.ts";
import { proofFiles } from "./proof-files.ts";
import { createWorkerResultProver } from "./worker-result-prover.ts";

export interface SwarmProverInput extends CommitCheckerInput {
  readonly work: WorkRepository;
}

/**
 * Creates the prover, which runs checks on each worker's result in a new sandbox. The prover opens only when
 * the first result arrives.
 */
export function createSwarmProver(
  project: Pick<Project, "host" | "repository">,
  swarm: SwarmProverInput,
  signal: AbortSignal,
): ProveResult {
  const prover = once(async () => {
    const { root } = await project.repository();
    return createWorkerResultProver({
      ...proofFiles({ root, swarmId: swarm.state.swarmId }),
      work: swarm.work,
      runChecks: await openCommitChecker(project, swarm, signal),
      crashPoint: project.host.crashPoint,
      clock: project.host.clock,
      testCommand: once(async () => {
        const tests = await findTestCommandAtHead(swarm.commits);
        return tests.kind === "found" ? tests.command : null;
      }),
    });
  });
  return async ({ slug, task: { taskFile }, base, request }, { commit, attempt }, ending) =>
    (await prover())({ slug, attempt, taskFile, verify: request.verify ?? [], base, commit }, ending);
}
