import type { ProofCheck, ProofReport, RanCheck } from "../../contract/proof.ts";
import type { TaskFile } from "../../contract/tasks.ts";
import type { WorkRepository } from "../../git/work-repository-port.ts";
import type { CrashHook } from "../../machine/crash-points.ts";
import { findWeakenedTests } from "./find-weakened-tests.ts";
import { judgeProof } from "./rules/judge-proof.ts";

export interface ProveWorkDeps {
  readonly work: Pick<WorkRepository, "readPatch">;
  /** Runs commands on a commit, one after the other, in a new sandbox where no agent ever ran. */
  readonly runChecks: (
    commit: string,
    commands: readonly string[],
    signal: AbortSignal,
  ) => Promise<readonly RanCheck[]>;
  /** Returns the command that runs the repository's tests; null if it is unknown. */
  readonly testCommand: () => Promise<string | null>;
  /**
   * Returns the stored results that exactly these commands, in this order, had on a base commit. Null if none
   * are stored.
   */
  readonly findBaseChecks: (base: string, commands: readonly string[]) => Promise<readonly RanCheck[] | null>;
  readonly storeBaseChecks: (
    base: string,
    commands: readonly string[],
    ran: readonly RanCheck[],
  ) => Promise<void>;
  readonly storeProof: (proof: ProofReport) => Promise<void>;
  readonly crashPoint: CrashHook;
  readonly clock: () => Date;
}

export interface WorkerResultToProve {
  readonly slug: string;
  readonly attempt: number;
  readonly taskFile: TaskFile;
  /** The check commands that apply to every story of the task. */
  readonly verify: readonly string[];
  readonly base: string;
  readonly commit: string;
}

/**
 * Returns a function that checks a worker's result independently of the worker. It runs the checks on the
 * result and on its base commit, in sandboxes where no agent ever ran, and compares the outcomes.
 */
export function createWorkerResultProver(
  deps: ProveWorkDeps,
): (work: WorkerResultToProve, signal: AbortSignal) => Promise<ProofReport> {
  // The last check run of each base commit. Results with the same base often end together, so one run serves
  // them all.
  const runByBase = new Map<string, Promise<unknown>>();

  return async (toProve, signal) => {
    const { slug, attempt, taskFile, verify, base, commit } = toProve;
    const stories = taskFile.userStories.map((story) => ({
      id: story.id,
      criteria: [...story.acceptanceCriteria],
      checks: [...new Set([...(story.verify ?? []), ...verify])],
    }));
    const demanded = new Set(stories.flatMap(({ checks }) => checks));
    const test = await deps.testCommand();
    const commands = [...new Set([...demanded, ...(test === null ? [] : [test])])];
    const checks = await runBoth(toProve, commands, demanded, signal);
    deps.crashPoint("after-proof-checks");
    const tests = await findWeakenedTests(deps, { base, tip: commit }, signal);
    const proof: ProofReport = {
      worker: slug,
      attempt,
      commit,
      base,
      at: deps.clock().toISOString(),
      ...judgeProof(checks),
      checks,
      stories,
      weakenedTests: tests.tests,
      isCut: tests.isCut,
    };
    await deps.storeProof(proof);
    return proof;
  };

  async function runBoth(
    { base, commit }: WorkerResultToProve,
    commands: readonly string[],
    demanded: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<ProofCheck[]> {
    if (commands.length === 0) return [];
    const before = await checkBase(base, commands, signal);
    const after = base === commit ? before : await deps.runChecks(commit, commands, signal);
    return commands.map((command, at) => {
      const [was, is] = [before[at], after[at]];
      if (!was || !is) throw new Error("a check ended without a result");
      return { command, isDemanded: demanded.has(command), before: was, after: is };
    });
  }

  /**
   * Runs the check commands on a base commit, or returns the stored results if exactly the same list of
   * commands ran before. Results of another list do not count, because a command may need files that an
   * earlier command wrote.
   */
  async function checkBase(
    base: string,
    commands: readonly string[],
    signal: AbortSignal,
  ): Promise<readonly RanCheck[]> {
    const earlier = runByBase.get(base) ?? Promise.resolve();
    const run = earlier
      .catch(() => {})
      .then(async () => {
        const known = await deps.findBaseChecks(base, commands);
        if (known !== null) return known;
        const ran = await deps.runChecks(base, commands, signal);
        // Does not store results if a command was cut off, because it may end differently next time.
        if (ran.every(({ exitCode }) => exitCode !== null)) await deps.storeBaseChecks(base, commands, ran);
        return ran;
      });
    runByBase.set(base, run);
    return run;
  }
}
