import { appendFileSync, writeFileSync } from "node:fs";
import { describe, expect } from "vitest";
import { journalPath } from "../../../adapter/machine/sandbox-paths.ts";
import { tailJournal } from "../../../adapter/tail-journal.ts";
import { test } from "../../fakes/folders.ts";
import { activity, goodNews, lines, numbered } from "../../fakes/protocol/acp-talk.ts";

describe("what an adapter tells people", () => {
  test("is all that happened, or the newest of it", async ({ folder }) => {
    const paths = { workspace: folder, home: folder, aimi: folder, layer: folder };
    writeFileSync(journalPath(paths), lines(numbered(goodNews(["US-001"]))));
    const told = async (last: number | null): Promise<string[]> => {
      const said: string[] = [];
      await tailJournal(paths, { last, until: null }, (line) => said.push(line));
      return said;
    };

    const all = await told(null);

    expect(all).toHaveLength(6);
    expect(all[1]).toBe("12:00:00 US-001 text: reads the files");
    expect(await told(2)).toEqual(all.slice(-2));
    expect(await told(0)).toEqual([]);
  });

  test("goes on as it happens, until nobody wants to know any more", async ({ folder }) => {
    const paths = { workspace: folder, home: folder, aimi: folder, layer: folder };
    writeFileSync(
      journalPath(paths),
      lines(numbered([activity("US-001", "one"), activity("US-001", "two")])),
    );
    const leaving = new AbortController();
    const said: string[] = [];

    await tailJournal(paths, { last: 1, until: leaving.signal }, (line) => {
      said.push(line);
      if (said.length === 1)
        setImmediate(() =>
          appendFileSync(journalPath(paths), lines(numbered([activity("US-001", "three")], 3))),
        );
      else leaving.abort();
    });

    expect(said.map((line) => line.slice(-5))).toEqual([": two", "three"]);
  });
});
