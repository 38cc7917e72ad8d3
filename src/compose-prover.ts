import { type CommitCheckerInput, openCommitChecker } from "./compose-checker.ts";
import type { OwnerOperationsDeps } from "./compose-owner.ts";
import { once } from "./domain/once.ts";
import type { WorkRepository } from "./ports/work-repository.ts";
import type { SwarmOwnerDeps } from "./swarm/swarm-deps.ts";

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
        import("./swarm/prove-work.ts"),
        import("./host/proof-files.ts"),
        import("./swarm/find-tests.ts"),
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
