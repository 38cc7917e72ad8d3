import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { MergedWorker, MergeReport } from "../../../src/contract/merge.ts";
import { git } from "../git/repository.ts";

/** How each worker's result fared, in a word or two. */
export function outcomesOf({ workers }: MergeReport): Record<string, string> {
  const words = ({ outcome, reason }: MergedWorker): string =>
    reason === null ? outcome : `${outcome}: ${reason.code}`;
  return Object.fromEntries(workers.map((worker) => [worker.worker, words(worker)]));
}

/** What a merge must leave as it was: the working tree, the index, the stash, the configuration, and these branches. */
export function untouchedBy(
  { repository }: { readonly repository: string },
  ...branches: readonly string[]
): unknown {
  const index = createHash("sha256").update(readFileSync(join(repository, ".git/index")));
  return [
    git(repository, "status", "--porcelain"),
    git(repository, "rev-parse", "HEAD", "main", ...branches),
    git(repository, "stash", "list"),
    index.digest("hex"),
    readFileSync(join(repository, ".git/config"), "utf8"),
  ];
}
