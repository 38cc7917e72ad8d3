import { createHash } from "node:crypto";
import { describe, expect, inject, test } from "vitest";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { git } from "../../fakes/git/repository.ts";
import { fetchBundle, scripted, startWorker, story } from "../../fakes/swarm/worker.ts";

const engine = openEngine(inject("endpoint"));
const { runtimes } = await engine.info();

for (const runtime of ["runc", "runsc"]) {
  describe.skipIf(!runtimes.includes(runtime))(`a worker's sandbox under ${runtime}`, () => {
    test("carries out stories in the order of their dependencies, repairs one, and ends in commits that can be fetched", async () => {
      await using worker = await startWorker(engine, { runtime });
      await using line = await worker.attach();

      const request = scripted(
        worker,
        {
          "US-001": [
            { write: { path: "a.txt", content: "wrong\n" } },
            { onRepair: [{ write: { path: "a.txt", content: "right\n" } }] },
          ],
          "US-002": [{ run: ["sh", "-c", "cat a.txt > b.txt"] }],
        },
        {
          stories: [
            story("US-002", { dependsOn: ["US-001"], priority: 0 }),
            story("US-001", {
              verify: ["grep -q right a.txt; echo checked > dropping.txt; grep -q right a.txt"],
            }),
          ],
        },
      );
      await line.send("task-request", request);
      const completion = await line.untilType("completion");
      const stored = await worker.read("/aimi/out/work.bundle");
      await line.send("ack", { seq: completion.seq });

      expect(await worker.ended()).toBe(0);
      expect(completion.payload).toMatchObject({ status: "completed", errors: [] });
      expect(createHash("sha256").update(stored).digest("hex")).toBe(completion.payload.sha256);
      expect(fetchBundle(worker.repository, stored, "refs/heads/feat/work")).toBe(completion.payload.head);
      const log = git(
        worker.repository,
        "log",
        "--reverse",
        "--format=%an|%cn|%s|%(trailers:key=Swarm-Story,valueonly,separator=)",
        `${worker.base}..refs/fetched`,
      );
      expect(log.trim().split("\n")).toEqual(["Ada|swarm|Do US-001|US-001", "Ada|swarm|Do US-002|US-002"]);
      expect(git(worker.repository, "ls-tree", "--name-only", "refs/fetched").trim().split("\n")).toEqual([
        "README.md",
        "a.txt",
        "b.txt",
      ]);
      const updates = line.messages.flatMap((message) =>
        message.type === "progress-update" ? [`${message.payload.storyId} ${message.payload.status}`] : [],
      );
      expect(updates).toEqual([
        "US-001 in_progress",
        "US-001 completed",
        "US-002 in_progress",
        "US-002 completed",
      ]);
      const seqs = line.messages.flatMap((message) => ("seq" in message ? [message.seq] : []));
      expect(seqs).toEqual(seqs.map((_seq, index) => index + 1));
    });
  });
}
