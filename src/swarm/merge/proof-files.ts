import { join } from "node:path";
import type { ProofReport, RanCheck } from "../../contract/proof.ts";
import { isCommitId } from "../../git/rules/commit-id.ts";
import { readReportFile, writeReportFile } from "./report-files.ts";

/**
 * Stores the results of the checks that swarm runs in fresh sandboxes on the workers' results. If a stored
 * result is lost, swarm repeats the check.
 */
export interface ProofFiles {
  findProof(slug: string): Promise<ProofReport | null>;
  storeProof(proof: ProofReport): Promise<void>;
  /**
   * Finds the stored results of these check commands on a base commit, where the commands ran one after
   * another in one sandbox. Null if there are none.
   */
  findBaseChecks(base: string, commands: readonly string[]): Promise<readonly RanCheck[] | null>;
  storeBaseChecks(base: string, commands: readonly string[], ran: readonly RanCheck[]): Promise<void>;
}

interface RanBefore {
  readonly commands: readonly string[];
  readonly ran: readonly RanCheck[];
}

export function proofFiles({
  root,
  swarmId,
}: {
  readonly root: string;
  readonly swarmId: string;
}): ProofFiles {
  const folder = join(root, ".aimi", "swarms", swarmId);
  const proofOf = (slug: string): string => join(folder, slug, "proof.json");
  const beforeOf = (base: string): string => {
    if (!isCommitId(base)) throw new Error(`${JSON.stringify(base)} is not a commit id`);
    return join(folder, "before", `${base}.json`);
  };

  const readBefore = async (base: string): Promise<RanBefore[]> => {
    const value = await readReportFile<unknown>(beforeOf(base));
    return Array.isArray(value) ? value.filter(isRanBefore) : [];
  };

  return {
    findProof: (slug) => readReportFile(proofOf(slug), "proof"),
    storeProof: (proof) => writeReportFile(root, proofOf(proof.worker), proof),
    async findBaseChecks(base, commands) {
      const known = (await readBefore(base)).find((each) => isSame(each.commands, commands));
      return known?.ran ?? null;
    },
    async storeBaseChecks(base, commands, ran) {
      const others = (await readBefore(base)).filter((each) => !isSame(each.commands, commands));
      await writeReportFile(root, beforeOf(base), [...others, { commands, ran }]);
    },
  };
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function isRanBefore(value: unknown): value is RanBefore {
  const { commands, ran } = (value ?? {}) as Partial<RanBefore>;
  if (!Array.isArray(commands) || !Array.isArray(ran)) return false;
  return ran.length === commands.length && ran.every(isRan);
}

function isRan(value: unknown): value is RanCheck {
  const { exitCode, output, durationMs } = (value ?? {}) as Partial<RanCheck>;
  return (
    (exitCode === null || Number.isInteger(exitCode)) &&
    typeof output === "string" &&
    Number.isInteger(durationMs)
  );
}
