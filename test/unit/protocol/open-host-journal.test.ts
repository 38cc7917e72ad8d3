import { appendFileSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { summarizeHostJournal } from "../../../src/protocol/host-journal.ts";
import { type HostJournal, openHostJournal } from "../../../src/protocol/open-host-journal.ts";
import type { JournalledMessage } from "../../../src/protocol/rules/protocol-messages.ts";
import { findAdapterMessageProblem as findProblem } from "../../../src/schema/find-message-problem.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";
import { begin, completion, goodNews, lines, numbered, progress } from "../../fakes/protocol/acp-talk.ts";

const news = goodNews();
const messages = numbered(news) as unknown as JournalledMessage[];

function open(folder: string): Promise<HostJournal> {
  return openHostJournal(join(folder, "journal-1.ndjson"), { begin: begin(), findProblem });
}

describe("the owner's journal", () => {
  test("keeps what it was given, for its owner alone to write and for others to read along", async ({
    folder,
  }) => {
    await using journal = await open(folder);
    await Promise.all([journal.append(messages.slice(0, 3)), journal.append(messages.slice(3, 5))]);

    expect(journal.lastSeq).toBe(5);
    expect(statSync(join(folder, "journal-1.ndjson")).mode & 0o777).toBe(0o600);
    expect(await summarizeHostJournal(folder)).toMatchObject({
      lastSeq: 5,
      statusById: new Map([["US-001", "completed"]]),
    });
  });

  test("opened again knows what it knew", async ({ folder }) => {
    {
      await using journal = await open(folder);
      await journal.append(messages);
    }

    await using again = await open(folder);

    expect(again.lastSeq).toBe(messages.length);
    expect(again.conversationState).toMatchObject({
      lastSeq: messages.length,
      end: { type: "completion" },
      helloContent: null,
    });
    expect([...again.conversationState.statusById.values()]).toEqual(["completed", "completed"]);
  });

  test("loses a torn last line and goes on where it was torn", async ({ folder }) => {
    write(
      folder,
      "journal-1.ndjson",
      Buffer.concat([lines(messages.slice(0, 2)), Buffer.from('{"seq":3,"ty')]),
    );

    await using journal = await open(folder);
    await journal.append(messages.slice(2, 4));

    expect(readFileSync(join(folder, "journal-1.ndjson"), "utf8")).toBe(
      lines(messages.slice(0, 4)).toString(),
    );
  });

  test("takes no gap, and nothing twice", async ({ folder }) => {
    await using journal = await open(folder);
    await journal.append(messages.slice(0, 1));

    await expect(journal.append(messages.slice(2, 3))).rejects.toThrow(
      "next message must have the number 2, not 3",
    );
    await expect(journal.append(messages.slice(0, 1))).rejects.toThrow(
      "next message must have the number 2, not 1",
    );
    await expect(journal.append([...messages.slice(1, 2), ...messages.slice(3, 4)])).rejects.toThrow("not 4");
    expect(journal.lastSeq).toBe(1);
  });

  test.for([
    ["a line that is no JSON", "garbage\n"],
    ["a line that is missing", lines(messages.slice(3, 4)).toString()],
    ["a line that is there twice", lines(messages.slice(1, 2)).toString()],
    ["a story that nobody knows", lines(numbered([progress("US-077", "in_progress")], 3)).toString()],
  ])("with %s is left as it is", async ([_what, damage], { folder }) => {
    const file = write(folder, "journal-1.ndjson", lines(messages.slice(0, 2)));
    appendFileSync(file, damage ?? "");
    const before = readFileSync(file);

    await expect(open(folder)).rejects.toMatchObject({ code: "FILE_FAILED" });
    expect(readFileSync(file)).toEqual(before);
  });

  test("of a run that was stopped goes on with the next one", async ({ folder }) => {
    write(folder, "journal-1.ndjson", lines(numbered([completion("stopped")])));

    await using journal = await open(folder);

    expect(journal.conversationState).toMatchObject({ lastSeq: 1, end: { payload: { status: "stopped" } } });
    await journal.append(numbered([progress("US-001", "in_progress")], 2) as unknown as JournalledMessage[]);
  });

  test("writes thousands of messages a second", async ({ folder }) => {
    await using journal = await open(folder);
    const many = numbered(Array.from({ length: 10_000 }, () => progress("US-001", "in_progress")));
    const start = performance.now();

    for (let at = 0; at < many.length; at += 100)
      await journal.append(many.slice(at, at + 100) as unknown as JournalledMessage[]);

    expect(performance.now() - start).toBeLessThan(4_000);
  });
});
