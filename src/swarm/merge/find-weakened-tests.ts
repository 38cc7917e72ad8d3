import type { PatchToRead, WorkRepository } from "../../git/work-repository-port.ts";
import { createWeakenedTestDetector, type WeakenedTestFindings } from "./rules/weakened-tests.ts";

/** Finds the tests that were deleted or marked as skipped between two commits. */
export async function findWeakenedTests(
  { work }: { readonly work: Pick<WorkRepository, "readPatch"> },
  { base, tip }: Pick<PatchToRead, "base" | "tip">,
  signal?: AbortSignal,
): Promise<WeakenedTestFindings> {
  const tests = createWeakenedTestDetector();
  const { isCut } =
    base === tip ? { isCut: false } : await work.readPatch({ base, tip, onLine: tests.addPatchLine }, signal);
  const found = tests.findings();
  return { ...found, isCut: isCut || found.isCut };
}
