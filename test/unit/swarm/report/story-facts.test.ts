import { execFileSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { findAdapterMessageProblem } from "../../../../src/schema/find-message-problem.ts";
import { readWorkerFactsFromJournals } from "../../../../src/swarm/report/read-worker-facts.ts";
import { type WorkerFacts, WorkerFactsReader } from "../../../../src/swarm/report/rules/story-facts.ts";
import { test } from "../../../fakes/folders.ts";
import { write } from "../../../fakes/git/repository.ts";
import { journalLines, usageSoFar } from "../../../fakes/protocol/journal-lines.ts";

const commit = "c".repeat(40);
const minute = 60_000;
const factsIn = (folder: string): Promise<WorkerFacts> =>
  readWorkerFactsFromJournals(folder, findAdapterMessageProblem);
const begun = (storyId: string) =>
  ["progress-update", { storyId, status: "in_progress", output: "begun" }] as const;
const crash = { code: "AGENT_CRASH", message: "it crashed" };
const stored = { commit, bundle: "/aimi/out/x.bundle", bytes: 1, sha256: "a".repeat(64) };
const end = { prUrl: null, errors: [], head: null, bundle: null, sha256: null };

describe("what journals say of stories", () => {
  test("is their last word, with checks, the time that they took and the tokens", async ({ folder }) => {
    const checks = [{ command: "npm test", exitCode: 0, durationMs: 1200, output: "42 passing" }];
    write(
      folder,
      "journal-1.ndjson",
      journalLines(1, [
        begun("US-001"),
        ["activity", { storyId: "US-001", kind: "text", summary: "reading" }],
        ["usage", usageSoFar("US-001", 1_000, 0.1)],
        ["progress-update", { storyId: "US-001", status: "completed", output: "done", commit, checks }],
        begun("US-002"),
        ["usage", usageSoFar("US-002", 1_500, 0.3)],
        [
          "progress-update",
          { storyId: "US-002", status: "failed", output: "no", reason: crash, failedWork: stored },
        ],
        ["completion", { ...end, status: "failed" }],
      ]),
    );

    const facts = await factsIn(folder);

    expect(facts).toMatchObject({
      workMs: 7 * minute,
      usage: { inputTokens: 1_500, outputTokens: 150, costUsd: 0.3 },
    });
    expect(facts.storyById.get("US-001")).toEqual({
      ...{
        attempt: 1,
        status: "completed",
        output: "done",
        commit,
        checks,
        reason: null,
        failedCommit: null,
      },
      workMs: 3 * minute,
      usage: { inputTokens: 1_000, outputTokens: 100, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: 0.1 },
    });
    expect(facts.storyById.get("US-002")).toMatchObject({
      ...{ status: "failed", reason: crash, failedCommit: commit, workMs: 2 * minute },
      usage: { inputTokens: 500, outputTokens: 50, costUsd: 0.2 },
    });
  });

  test("of several attempts the newest word counts, and everything that was spent", async ({ folder }) => {
    write(
      folder,
      "journal-1.ndjson",
      journalLines(1, [
        begun("US-001"),
        ["usage", usageSoFar("US-001", 1_000)],
        ["progress-update", { storyId: "US-001", status: "completed", output: "first", commit }],
        begun("US-002"),
        ["progress-update", { storyId: "US-002", status: "failed", output: "no", reason: crash }],
      ]),
    );
    write(
      folder,
      "journal-2.ndjson",
      journalLines(2, [
        begun("US-002"),
        ["usage", usageSoFar("US-002", 200)],
        ["progress-update", { storyId: "US-002", status: "completed", output: "second", commit }],
      ]),
    );
    // Not the tenth before the second.
    write(folder, "journal-10.ndjson", journalLines(10, [begun("US-003")]));

    const { storyById, usage, workMs } = await factsIn(folder);

    expect([...storyById].map(([id, { attempt, status }]) => [id, attempt, status])).toEqual([
      ["US-001", 1, "completed"],
      ["US-002", 2, "completed"],
      ["US-003", 10, "in_progress"],
    ]);
    expect(storyById.get("US-002")).toMatchObject({ reason: null, output: "second", workMs: 3 * minute });
    expect(usage).toMatchObject({ inputTokens: 1_200, costUsd: null });
    expect(workMs).toBe(6 * minute);
  });

  test("a night between two runs is no work, nor is a clock that was set back", async ({ folder }) => {
    write(
      folder,
      "journal-1.ndjson",
      journalLines(1, [
        begun("US-001"),
        ["completion", { ...end, status: "stopped" }],
        [...begun("US-001"), 8 * 60 * minute],
        ["activity", { storyId: "US-001", kind: "text", summary: "x" }, -48 * 60 * minute],
        ["progress-update", { storyId: "US-001", status: "completed", output: "done", commit }],
      ]),
    );

    const { workMs, storyById } = await factsIn(folder);

    expect([workMs, storyById.get("US-001")?.workMs]).toEqual([2 * minute, 2 * minute]);
  });

  test("what has not the right form, comes again or is torn counts for nothing; text is clean", async ({
    folder,
  }) => {
    const file = write(
      folder,
      "journal-1.ndjson",
      journalLines(1, [
        [
          "progress-update",
          { storyId: "US-001", status: "completed", output: "\u001b[31mdone\u0007", commit },
        ],
      ]),
    );
    const [line = ""] = journalLines(1, [
      ["progress-update", { storyId: "US-001", status: "failed", output: "again" }],
    ]).split("\n");
    appendFileSync(file, `${line}\n`);
    appendFileSync(file, `${line.replace('"seq":1', '"seq":"2"')}\n`);
    appendFileSync(file, `${line.replace('"seq":1', '"seq":3').replace('"failed"', '"winning"')}\n`);
    appendFileSync(file, line.replace('"seq":1', '"seq":4').slice(0, -20));

    const { storyById } = await factsIn(folder);

    expect([...storyById]).toMatchObject([["US-001", { status: "completed", output: "done" }]]);
  });

  test("where there is no journal, or a pipe in its place, there is nothing", async ({ folder }) => {
    execFileSync("mkfifo", [join(folder, "journal-1.ndjson")]);

    for (const place of [folder, join(folder, "none")])
      expect(await factsIn(place)).toEqual({ workMs: null, usage: null, storyById: new Map() });
  });

  test("of all that a worker's checks wrote only so much is kept", () => {
    const facts = new WorkerFactsReader();
    const check = { command: "npm test", durationMs: 1, output: "x".repeat(500) };
    const checks = Array.from({ length: 100 }, (_, index) => ({ ...check, exitCode: index % 2 }));
    facts.begin(1);
    for (let index = 0; index < 1_000; index += 1) {
      const [line = ""] = journalLines(1, [
        ["progress-update", { storyId: `US-${index}`, status: "failed", output: "no", checks }],
      ]).split("\n");
      facts.add(JSON.parse(line));
    }

    const kept = [...facts.facts().storyById.values()].flatMap((story) => story.checks);
    const outputs = kept.map(({ output }) => output.length);
    expect(outputs.slice(0, 2)).toEqual([200, 500]);
    expect(kept).toHaveLength(100_000);
    expect(outputs.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(4 * 1024 ** 2);
  });
});
