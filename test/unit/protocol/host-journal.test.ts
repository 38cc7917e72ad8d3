import { Readable } from "node:stream";
import { describe, expect } from "vitest";
import { summarizeAttemptJournal, summarizeHostJournal } from "../../../src/protocol/host-journal.ts";
import { jsonLines } from "../../../src/wire/text-lines.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";

async function linesOf(chunks: readonly string[], maxLength = 64): Promise<unknown[]> {
  return await Array.fromAsync(
    jsonLines(Readable.from(chunks.map((chunk) => Buffer.from(chunk))), { maxLength }),
  );
}

function message(seq: unknown, type: string, payload: object): string {
  return `${JSON.stringify({ seq, type, payload })}\n`;
}

describe("lines of JSON", () => {
  test("arrive whole and in order, however the stream is cut", async () => {
    expect(await linesOf(['{"a"', ":1}\n{", '"b":2}\n', '{"c":3}'])).toEqual([{ a: 1 }, { b: 2 }, { c: 3 }]);
  });

  test("that are no JSON, or too long, are left out; the ones around them are not", async () => {
    expect(
      await linesOf([
        '{"a":1}\nnot json\n',
        `{"long":"${"x".repeat(1000)}`,
        `${"x".repeat(1000)}"}\n{"b":2}\n{"torn`,
      ]),
    ).toEqual([{ a: 1 }, { b: 2 }]);
  });

  test("a gigabyte without a line break costs next to no memory", async () => {
    const chunk = Buffer.alloc(1024 * 1024, "x");
    const before = process.memoryUsage.rss();
    let most = 0;
    async function* flood() {
      for (let sent = 0; sent < 1024; sent += 1) {
        yield chunk;
        most = Math.max(most, process.memoryUsage.rss());
      }
      yield Buffer.from('\n{"after":true}\n');
    }

    expect(await Array.fromAsync(jsonLines(Readable.from(flood()), { maxLength: 64 * 1024 }))).toEqual([
      { after: true },
    ]);
    expect(most - before).toBeLessThan(64 * 1024 * 1024);
  });
});

describe("the host's journal of a worker", () => {
  const commit = "c".repeat(40);

  test("of the newest attempt says where it stood", async ({ folder }) => {
    write(folder, "journal-1.ndjson", message(1, "completion", { status: "failed" }));
    write(
      folder,
      "journal-2.ndjson",
      message(1, "progress-update", { storyId: "US-001", status: "completed" }) +
        message(2, "checkpoint", { storyId: "US-001", commit }) +
        message(3, "completion", { status: "completed" }),
    );

    expect(await summarizeHostJournal(folder)).toEqual({
      attempt: 2,
      lastSeq: 3,
      statusById: new Map([["US-001", "completed"]]),
      completion: "completed",
      error: null,
      lastCheckpoint: commit,
      isWhole: true,
      failedWork: [],
    });
  });

  test("a completion that something follows is none; a message replayed changes nothing", async ({
    folder,
  }) => {
    write(
      folder,
      "journal-1.ndjson",
      message(1, "completion", { status: "completed" }) +
        message(2, "activity", {}) +
        message(1, "completion", { status: "failed" }),
    );

    expect(await summarizeHostJournal(folder)).toMatchObject({ lastSeq: 2, completion: null });
  });

  test("knows what was stored, of failed stories as well, and whether all was said", async ({ folder }) => {
    const other = "d".repeat(40);
    write(
      folder,
      "journal-1.ndjson",
      message(1, "checkpoint", { commit, bundle: "/aimi/out/1.bundle" }) +
        message(2, "progress-update", {
          storyId: "US-002",
          status: "failed",
          failedWork: { commit: other, bundle: "/aimi/out/2.bundle" },
        }) +
        message(3, "checkpoint", { commit: other, bundle: null }) +
        message(4, "error", { code: "AGENT_CRASH", message: "it fell" }),
    );

    expect(await summarizeAttemptJournal(folder, 1)).toMatchObject({
      ...{ lastCheckpoint: commit, failedWork: [other], isWhole: true },
    });
    expect(await summarizeAttemptJournal(folder, 2)).toBeNull();
  });

  test("what has not the right form counts for nothing", async ({ folder }) => {
    write(folder, "journal-0.ndjson", message(9, "completion", { status: "completed" }));
    write(
      folder,
      "journal-1.ndjson",
      message(1, "error", { code: "lower case", message: "x" }) +
        message(2, "progress-update", { storyId: "US-001", status: "winning" }) +
        message(3, "checkpoint", { commit: "HEAD" }) +
        message("4", "completion", { status: "completed" }),
    );

    expect(await summarizeHostJournal(folder)).toEqual({
      attempt: 1,
      lastSeq: 3,
      statusById: new Map(),
      completion: null,
      error: null,
      lastCheckpoint: null,
      isWhole: false,
      failedWork: [],
    });
  });

  test("where there is none, there is none", async ({ folder }) => {
    expect(await summarizeHostJournal(folder)).toBeNull();
  });
});
