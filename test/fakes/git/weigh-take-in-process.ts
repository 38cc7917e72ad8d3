import { createReadStream } from "node:fs";
import { workRepository } from "../../../src/git/work-repository.ts";
import type { BundleToImport } from "../../../src/git/work-repository-port.ts";
import { findWeakenedTests } from "../../../src/swarm/merge/find-weakened-tests.ts";
import { peakMb } from "../machine/peak.ts";

/** Takes work in, looks at it as an owner does, and says what became of it and how much memory that took. */
const [commonFolder = "", file = "", text = ""] = process.argv.slice(2);
const work: Omit<BundleToImport, "bundle"> = JSON.parse(text);

const repository = workRepository({ commonFolder });
const before = peakMb();
/** What the process has grown by at the end of each step. */
const addedMb: Record<string, number> = {};
async function weigh<T>(step: string, act: () => Promise<T>): Promise<T> {
  const result = await act();
  addedMb[step] = Math.round(peakMb() - before);
  return result;
}

const { base, tip } = work;
const outcome = await weigh("takeIn", () =>
  repository.importBundle({ ...work, bundle: createReadStream(file) }),
);
const told: Record<string, unknown> = { outcome, addedMb };
if (outcome.kind === "taken") {
  const sensitive = await weigh("sensitive", () => repository.sensitivePaths(base, tip));
  const changes = await weigh("changes", () => repository.changes(base, tip));
  const lost = await weigh("patch", () => findWeakenedTests({ work: repository }, { base, tip }));
  Object.assign(told, {
    sensitive: { ...sensitive, paths: sensitive.paths.length },
    changes: { ...changes, commits: changes.commits.length, files: changes.files.length },
    lost: { ...lost, tests: lost.tests.length },
  });
}
console.log(JSON.stringify(told));
