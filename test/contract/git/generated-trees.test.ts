import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { count } from "../../counts.ts";
import { chanceFrom } from "../../fakes/chance.ts";
import { test } from "../../fakes/folders.ts";
import {
  expectedReadings,
  generateTrees,
  type Reading,
  storeTrees,
} from "../../fakes/git/generated-trees.ts";
import { said, startProgram } from "../../fakes/machine/processes.ts";

const together = 1_000;
const maxMb = 64;

test(
  `${count.generatedTrees} generated trees are read or refused as git and the limits say, in bounded memory`,
  async ({ repository, folder }) => {
    const ends = new Map<string, number>();
    for (let seed = 1; seed * together <= Math.max(together, count.generatedTrees); seed += 1) {
      const generated = generateTrees(chanceFrom(seed), Math.min(together, count.generatedTrees));
      storeTrees(repository, generated);
      const file = join(folder, "pairs.json");
      writeFileSync(file, JSON.stringify(generated.pairs));

      const text = await said(startProgram("git/read-trees-process", repository, file));
      const { readings, addedMb } = JSON.parse(text) as { readings: Reading[]; addedMb: number };

      const expected = expectedReadings(repository, generated);
      expect(readings).toHaveLength(expected.length);
      for (const [at, reading] of readings.entries()) {
        expect(reading, `pair ${at} of seed ${seed}`).toEqual(expected[at]);
        const end = reading.why ?? "read";
        ends.set(end, (ends.get(end) ?? 0) + 1);
      }
      expect(addedMb).toBeLessThanOrEqual(maxMb);
    }
    // Each end was met, or the trees are too much alike.
    for (const end of ["read", "too-deep", "too-many", "too-long"])
      expect(ends.get(end) ?? 0, end).toBeGreaterThan(count.generatedTrees / 50);
  },
  10 * 60_000,
);
