import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import type { ProofReport, RanCheck } from "../../contract/proof.ts";
import { SwarmError } from "../../errors/errors.ts";
import { isCommitId } from "../../git/rules/commit-id.ts";
import { resolvesInsideFolder } from "../../machine/path-containment.ts";
import { findSchemaViolations } from "../../schema/find-violations.ts";

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

  return {
    async findProof(slug) {
      const value = await read(proofOf(slug));
      return value !== null && (await isProofReport(value)) ? (value as ProofReport) : null;
    },
    storeProof: (proof) => write(proofOf(proof.worker), proof),
    async findBaseChecks(base, commands) {
      const known = (await readBefore(base)).find((each) => isSame(each.commands, commands));
      return known?.ran ?? null;
    },
    async storeBaseChecks(base, commands, ran) {
      const others = (await readBefore(base)).filter((each) => !isSame(each.commands, commands));
      await write(beforeOf(base), [...others, { commands, ran }]);
    },
  };

  async function readBefore(base: string): Promise<RanBefore[]> {
    const value = await read(beforeOf(base));
    return Array.isArray(value) ? value.filter(isRanBefore) : [];
  }

  async function write(file: string, value: object): Promise<void> {
    if (!(await resolvesInsideFolder(root, file)))
      throw new SwarmError("FILE_UNWRITABLE", {
        file,
        reason: "a link in this path points outside the repository",
      });
    await mkdir(dirname(file), { recursive: true });
    await writeFileAtomic(file, `${JSON.stringify(value, null, 2)}\n`);
  }
}

/** Reads a JSON file; returns null if the file is missing or invalid. */
async function read(file: string): Promise<object | null> {
  try {
    const value: unknown = JSON.parse(await readFile(file, "utf8"));
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
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

/**
 * Whether a value is a valid proof report. Swarm writes this report after it has checked a worker's result in
 * new sandboxes.
 */
async function isProofReport(value: unknown): Promise<boolean> {
  return (await findSchemaViolations("proof", value)).length === 0;
}
