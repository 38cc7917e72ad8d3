import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { followJournals, type JournalsToFollow } from "../../../src/protocol/follow-journals.ts";
import type { JournalledMessage } from "../../../src/protocol/rules/protocol-messages.ts";
import { findAdapterMessageProblem } from "../../../src/schema/find-message-problem.ts";
import { test } from "../../fakes/folders.ts";
import {
  activity,
  completion,
  goodNews,
  lines,
  type News,
  numbered,
  progress,
} from "../../fakes/protocol/acp-talk.ts";

function journalOf(folder: string, attempt: number, ...news: readonly News[]): string {
  const file = join(folder, `journal-${attempt}.ndjson`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, lines(numbered(news).map((message) => ({ ...message, attempt }))));
  return file;
}

function follow(
  folder: string,
  { attempt = null, isOver = async () => true, watch = () => {} }: Partial<JournalsToFollow> = {},
  signal: AbortSignal = new AbortController().signal,
): AsyncGenerator<JournalledMessage> {
  return followJournals({ folder, attempt, isOver, watch }, findAdapterMessageProblem, signal);
}

const shown = ({ attempt, seq, type }: JournalledMessage): string => `${attempt}.${seq} ${type}`;

describe("the journals of a worker", () => {
  test("are read an attempt after the other, or one of them", async ({ folder }) => {
    for (const attempt of [10, 2, 1]) journalOf(folder, attempt, activity("US-001", "reads"));
    writeFileSync(join(folder, "journal-0.ndjson"), "{}\n");
    writeFileSync(join(folder, "owner.log"), "something else\n");

    expect((await Array.fromAsync(follow(folder))).map(shown)).toEqual([
      "1.1 activity",
      "2.1 activity",
      "10.1 activity",
    ]);
    expect((await Array.fromAsync(follow(folder, { attempt: 2 }))).map(shown)).toEqual(["2.1 activity"]);
  });

  test("that are not there say nothing", async ({ folder }) => {
    expect(await Array.fromAsync(follow(join(folder, "none")))).toEqual([]);
  });

  test("have every kind of message, and nothing else that lies in the file", async ({ folder }) => {
    const file = journalOf(folder, 1, ...goodNews(["US-001"]));
    appendFileSync(file, '"text"\nnull\n[]\n{"type":"activity","seq":99}\nno JSON\n{"type":"activity","se');

    const said = await Array.fromAsync(follow(folder));

    expect(said.map(({ type }) => type)).toEqual([
      "progress-update",
      "activity",
      "usage",
      "checkpoint",
      "progress-update",
      "completion",
    ]);
  });

  test("are clean, whoever wrote them", async ({ folder }) => {
    journalOf(folder, 1, activity("US-001", "\u001b[2Jgone\u202e \u0007"));

    const [said] = await Array.fromAsync(follow(folder));

    expect(said?.payload).toMatchObject({ summary: "gone " });
  });

  test("are followed through a torn line into the next attempt, until it is over", {
    timeout: 5_000,
  }, async ({ folder }) => {
    const file = journalOf(folder, 1, progress("US-001", "in_progress"));
    const more = lines(numbered([completion("failed")], 2)).toString();
    let isOver = false;
    let ring = (): void => {};
    const followed = {
      isOver: async () => isOver,
      watch: (onChange: () => void) => {
        ring = onChange;
      },
    };
    const told: string[] = [];

    for await (const message of follow(folder, followed)) {
      told.push(shown(message));
      if (told.length === 1) {
        appendFileSync(file, more.slice(0, 20));
        setImmediate(() => appendFileSync(file, more.slice(20)));
      }
      if (told.length === 2) setImmediate(() => journalOf(folder, 2, activity("US-001", "reads")));
      if (told.length < 3) continue;
      isOver = true;
      setImmediate(ring);
    }

    expect(told).toEqual(["1.1 progress-update", "1.2 completion", "2.1 activity"]);
  });

  test("are not told twice when the file is put back", async ({ folder }) => {
    const said = [activity("US-001", "one"), activity("US-001", "two")];
    journalOf(folder, 1, ...said.slice(0, 1));
    const looks = [() => void journalOf(folder, 1, ...said), () => {}];
    const told: string[] = [];

    const isOver = async (): Promise<boolean> => {
      if (told.length > 0) looks.shift()?.();
      return looks.length === 0;
    };
    let ring = (): void => {};
    const watch = (onChange: () => void): void => {
      ring = onChange;
    };
    for await (const message of follow(folder, { isOver, watch })) {
      told.push(shown(message));
      setImmediate(ring);
    }

    expect(told).toEqual(["1.1 activity", "1.2 activity"]);
  });

  test("are left at the signal", async ({ folder }) => {
    journalOf(folder, 1, activity("US-001", "reads"));
    const stopping = new AbortController();

    const told: string[] = [];
    for await (const message of follow(folder, { isOver: async () => false }, stopping.signal)) {
      told.push(shown(message));
      setImmediate(() => stopping.abort());
    }

    expect(told).toEqual(["1.1 activity"]);
  });
});
