import { describe, expect, test } from "vitest";
import type { BundleToImport, RefMove } from "../../../../src/git/work-repository-port.ts";
import { importCommitsFromAdapter } from "../../../../src/swarm/worker/import-commits.ts";
import { fakeSwarm } from "../../../fakes/swarm/fake-swarm.ts";

const [first, second, third] = ["1", "2", "3"].map((digit) => digit.repeat(40)) as [string, string, string];

/** What a collection takes the ref to be at, after an owner that wrote this down and was killed. */
async function knownAt(collecting: RefMove | null, at: string): Promise<string | null> {
  const taken: BundleToImport[] = [];
  const swarm = fakeSwarm([{ slug: "one" }]);
  const name = swarm.nameOf("one");
  const ref = `refs/aimi/${swarm.deps.swarm.swarmId}/one`;
  Object.assign(swarm.deps.repository.work, {
    commitAt: async () => at,
    async importBundle(work: BundleToImport) {
      taken.push(work);
      return { kind: "taken", commit: work.tip };
    },
  });
  Object.assign(swarm.deps.channel, { readFile: async function* () {} });
  await swarm.deps.store.change(name, (record) => ({
    ...record,
    ...{ collected: { commit: first, ref, at: "2026-01-02T00:00:00.000Z" } },
    collecting: collecting && { ...collecting, ref },
  }));

  const failure = await importCommitsFromAdapter(
    swarm.deps,
    { name, slug: "one", base: "b".repeat(40), request: {} } as Parameters<
      typeof importCommitsFromAdapter
    >[1],
    {
      commit: third,
      bundle: "/aimi/out/x",
      bytes: 1,
      sha256: "0".repeat(64),
      containerId: "c",
      failedStory: null,
    },
  );

  expect(failure).toBeNull();
  return taken[0]?.old ?? null;
}

describe("a collection after an owner that was killed", () => {
  test("goes on from where that one had moved the ref, though the record does not say so yet", async () => {
    expect(await knownAt({ ref: "", old: first, new: second }, second)).toBe(second);
  });

  test("goes on from the record where that one had moved nothing, or somebody else did", async () => {
    expect(await knownAt({ ref: "", old: first, new: second }, first)).toBe(first);
    expect(await knownAt({ ref: "", old: first, new: second }, "9".repeat(40))).toBe(first);
    expect(await knownAt(null, second)).toBe(first);
  });
});
