import { createHash } from "node:crypto";
import { join } from "node:path";
import { expect, inject } from "vitest";
import type { TaskRequestPayload } from "../../../src/contract/acp.ts";
import { noCrashHook } from "../../../src/machine/crash-points.ts";
import type { AdapterConversationEvent } from "../../../src/protocol/adapter-conversation.ts";
import { systemClockAndRandom } from "../../../src/protocol/clock-and-random.ts";
import { fetchStoredFile } from "../../../src/protocol/fetch-stored-file.ts";
import { openAdapterConversation } from "../../../src/protocol/open-conversation.ts";
import { openHostJournal } from "../../../src/protocol/open-host-journal.ts";
import { newConversationState } from "../../../src/protocol/rules/message-order.ts";
import { findAdapterMessageProblem } from "../../../src/schema/find-message-problem.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { test } from "../../fakes/folders.ts";
import { fetchBundle, scripted, startWorker, story, type Worker } from "../../fakes/swarm/worker.ts";

const engine = openEngine(inject("endpoint"));
const { runtimes } = await engine.info();

/** A conversation as an owner holds it, with the real engine between. */
async function converse(worker: Worker, folder: string, payload: TaskRequestPayload) {
  const ids = (payload.taskFile as { userStories: { id: string }[] }).userStories.map(({ id }) => id);
  const { swarmId, id: containerId, containers } = worker;
  const begin = newConversationState({
    ...{ swarmId, attempt: 1, containerId },
    statusById: new Map(ids.map((each) => [each, "pending" as const])),
  });
  const journal = await openHostJournal(join(folder, "journal-1.ndjson"), {
    begin,
    findProblem: findAdapterMessageProblem,
  });
  const timestamp = "2026-01-01T00:00:00.000Z";
  const request = Buffer.from(
    `${JSON.stringify({ type: "task-request", timestamp, swarmId, containerId, payload })}\n`,
  );
  const deps = {
    ...{ containers, timing: systemClockAndRandom, findProblem: findAdapterMessageProblem },
    crashPoint: noCrashHook,
  };
  const conversation = openAdapterConversation(
    deps,
    { containerId, journal, request, credentials: () => null },
    AbortSignal.timeout(60_000),
  );
  return {
    ...{ conversation, journal, deps },
    async [Symbol.asyncDispose]() {
      await conversation[Symbol.asyncDispose]();
      await journal[Symbol.asyncDispose]();
    },
  };
}

for (const runtime of ["runc", "runsc"]) {
  const suite = runtimes.includes(runtime) ? test : test.skip;

  suite(`host and adapter talk to the end under ${runtime}, and what was stored is the same before and after the container's end`, async ({
    folder,
  }) => {
    await using worker = await startWorker(engine, { runtime });
    const script = { "US-001": [{ write: { path: "a.txt", content: "1\n" } }], "US-002": [{ exit: 3 }] };
    await using talk = await converse(worker, folder, scripted(worker, script));
    const events: AdapterConversationEvent[] = [];

    for await (const event of talk.conversation.events) events.push(event);
    const end = events.at(-1);
    await worker.ended();

    expect(end).toMatchObject({
      kind: "end",
      end: { kind: "completion", message: { payload: { status: "failed" } } },
    });
    const statuses = events.flatMap((event) =>
      event.kind === "message" && event.message.type === "progress-update"
        ? [`${event.message.payload.storyId} ${event.message.payload.status}`]
        : [],
    );
    expect(statuses).toEqual([
      "US-001 in_progress",
      "US-001 completed",
      "US-002 in_progress",
      "US-002 failed",
    ]);
    const checkpoint = events.flatMap((event) =>
      event.kind === "message" && event.message.type === "checkpoint" ? [event.message.payload] : [],
    )[0];
    const stored: Uint8Array[] = [];
    const path = checkpoint?.bundle ?? "";
    for await (const bytes of fetchStoredFile(
      talk.deps,
      { containerId: worker.id, path, maxBytes: 1e6 },
      AbortSignal.timeout(10_000),
    ))
      stored.push(bytes);
    const bundle = Buffer.concat(stored);
    expect(createHash("sha256").update(bundle).digest("hex")).toBe(checkpoint?.sha256);
    expect(fetchBundle(worker.repository, bundle, "refs/heads/feat/work")).toBe(checkpoint?.commit);
  });
}

test("a worker whose supervisor is killed again and again is joined again, and nothing is told twice", async ({
  folder,
}) => {
  await using worker = await startWorker(engine);
  const script = {
    "US-001": [{ write: { path: "a.txt", content: "1\n" } }],
    "US-002": [{ sleepMs: 600_000 }],
  };
  const payload = scripted(worker, script, {
    stories: [story("US-001"), story("US-002", { dependsOn: ["US-001"] })],
  });
  const seqs: number[] = [];
  for (let go = 1; go <= 3; go += 1) {
    await using talk = await converse(worker, folder, payload);
    let isKilled = false;
    for await (const event of talk.conversation.events) {
      if (event.kind === "end") expect(event.end).toMatchObject({ kind: "exited", exitCode: 137 });
      if (event.kind !== "message") continue;
      if ("seq" in event.message && event.message.seq !== undefined) seqs.push(event.message.seq);
      const { type, payload: news } = event.message;
      if (!isKilled && type === "progress-update" && news.storyId === "US-002") {
        isKilled = true;
        await worker.run(["sh", "-c", "pkill -KILL -f 'adapter.mjs supervise'"]);
      }
    }
    expect(isKilled).toBe(true);
    await worker.start();
  }

  await using talk = await converse(worker, folder, payload);
  await talk.conversation.cancel({ reason: "test", graceMs: 0 });
  for await (const event of talk.conversation.events)
    if (event.kind === "message" && "seq" in event.message && event.message.seq !== undefined)
      seqs.push(event.message.seq);

  expect(seqs).toEqual(seqs.map((_seq, index) => index + 1));
});
