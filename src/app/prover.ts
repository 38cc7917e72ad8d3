import type { WorkRepository } from "../git/work-repository-port.ts";
import type { SwarmOwnerDeps } from "../swarm/worker/swarm-owner-deps.ts";
import { once } from "../text/once.ts";
import { type CommitCheckerInput, openCommitChecker } from "./checker.ts";
import type { OwnerOperationsDeps } from "./owner.ts";

export interface SwarmProverInput extends CommitCheckerInput {
  readonly work: WorkRepository;
}

/**
 * Creates the prover, which runs checks on each worker's result in a new sandbox. The prover's modules load
 * only when the first result arrives.
 */
export function createSwarmProver(
  deps: Pick<OwnerOperationsDeps, "clock" | "limits" | "crashPoint" | "repository">,
  swarm: SwarmProverInput,
  signal: AbortSignal,
): NonNullable<SwarmOwnerDeps["prove"]> {
  const prover = once(async () => {
    const [{ createWorkerResultProver }, { proofFiles }, { findTestCommand }, { root }, runChecks] =
      await Promise.all([
        import("../swarm/merge/worker-result-prover.ts"),
        import("../swarm/merge/proof-files.ts"),
        import("../tasks/find-test-command.ts"),
        deps.repository(),
        openCommitChecker(deps, swarm, signal),
      ]);
    // A prover only writes proof files and never reads them, so it needs no validator.
    const files = proofFiles({ root, swarmId: swarm.state.swarmId }, async () => true);
    return createWorkerResultProver({
      ...files,
      ...{ work: swarm.work, runChecks, crashPoint: deps.crashPoint, clock: deps.clock },
      testCommand: once(async () => {
        const tests = await findTestCommand(swarm.commits);
        return tests.kind === "found" ? tests.command : null;
      }),
    });
  });
  return async ({ slug, task: { taskFile }, base, request }, { commit, attempt }, ending) =>
    (await prover())({ slug, attempt, taskFile, verify: request.verify ?? [], base, commit }, ending);
}
