import { type FoundWeakening, watchTests } from "../domain/weakened-tests.ts";
import type { PatchToRead, WorkRepository } from "../ports/work-repository.ts";

/** Finds the tests that are deleted or skipped by the changes between two commits. */
export async function findWeakenedTests(
  { work }: { readonly work: Pick<WorkRepository, "readPatch"> },
  { base, tip }: Pick<PatchToRead, "base" | "tip">,
  signal?: AbortSignal,
): Promise<FoundWeakening> {
  const tests = watchTests();
  const { isCut } =
    base === tip ? { isCut: false } : await work.readPatch({ base, tip, see: tests.see }, signal);
  const found = tests.found();
  return { ...found, isCut: isCut || found.isCut };
}
