import { describe, inject, test } from "vitest";
import { count } from "../../counts.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { git } from "../../fakes/git/repository.ts";
import { fetchBundle, scripted, startWorker, story } from "../../fakes/swarm/worker.ts";

const engine = openEngine(inject("endpoint"));
const { runtimes } = await engine.info();
const available = ["runc", "runsc"].slice(0, count.runtimes).filter((runtime) => runtimes.includes(runtime));
const limits = { workFiles: count.workFiles, workFileBytes: count.workFileBytes, attempts: 1 };
const minute = 60_000;

const leave = (shell: string) => [{ run: ["sh", "-c", shell] }];
const many = (folder: string) =>
  `mkdir -p ${folder} && cd ${folder} && seq ${count.leftFiles} | xargs -n 1000 touch`;

describe.concurrent("what a story leaves that is more than a task may commit", () => {
  test.for(available)(
    "under %s ends that story with what, how large and what to do, and no other",
    { timeout: 30 * minute },
    async (runtime, { expect: expected }) => {
      await using worker = await startWorker(engine, { runtime, limits: { diskBytes: 16 * 1024 ** 3 } });
      const stories = [
        story("US-001"),
        story("US-002"),
        story("US-003"),
        story("US-004", { verify: ["true"] }),
      ];
      const request = scripted(
        worker,
        {
          "US-001": leave("truncate -s 1T hole.bin && echo kept > kept.txt"),
          "US-002": leave(many("heap")),
          "US-003": leave(`head -c ${count.leftBytes} /dev/zero > ballast.bin`),
          "US-004": leave(`echo cache > .gitignore && echo 1 > honest.txt && ${many("cache")}`),
        },
        { stories, limits },
      );
      await using line = await worker.attach();
      await line.send("task-request", request);
      const last = await line.until(({ type }) => type === "completion" || type === "error");
      const work = await worker.read("/aimi/out/work.bundle");
      const failed = await worker.read("/aimi/out/failed-US-001.bundle");
      await line.send("ack", { seq: "seq" in last ? last.seq : 0 });

      const reasons = Object.fromEntries(
        line.messages.flatMap(({ type, payload }) =>
          type === "progress-update" && payload.status !== "in_progress"
            ? [[payload.storyId, `${payload.status} ${payload.reason?.code} ${payload.reason?.message}`]]
            : [],
        ),
      );
      expected(reasons).toEqual({
        "US-001": expected.stringMatching(
          /^failed WORK_TOO_LARGE the file hole\.bin with 1 TiB( \(.* on the disk\))? .*\.gitignore .*, or raise the setting work\.fileSize\. swarm keeps all other changes of the story\.$/,
        ),
        "US-002": expected.stringMatching(
          `^failed WORK_TOO_LARGE the story has more than ${limits.workFiles} new .* in heap/: .*work\\.files`,
        ),
        "US-003": expected.stringMatching(
          /^failed WORK_TOO_LARGE the file ballast\.bin with [\d.]+ [MG]iB exceeds/,
        ),
        "US-004": "completed undefined undefined",
      });
      fetchBundle(worker.repository, work, "refs/heads/feat/work");
      const files = git(worker.repository, "ls-tree", "-r", "--name-only", "refs/fetched");
      expected(files).toBe(".gitignore\nREADME.md\nhonest.txt\n");
      fetchBundle(worker.repository, failed, "refs/aimi/failed/US-001");
      expected(git(worker.repository, "ls-tree", "-r", "--name-only", "refs/fetched")).toBe(
        "README.md\nkept.txt\n",
      );
      expected(await worker.ended()).toBe(1);
    },
  );

  test.for(available)(
    "under %s keeps no cancel waiting while it is removed, and the rest goes later",
    { timeout: 30 * minute },
    async (runtime, { expect: expected }) => {
      await using worker = await startWorker(engine, { runtime });
      const request = scripted(
        worker,
        { "US-001": leave(many("heap")), "US-002": leave("ls > listed.txt") },
        { stories: [story("US-001"), story("US-002")], limits },
      );
      await using line = await worker.attach();
      await line.send("task-request", request);
      await line.until(
        ({ type, payload }) =>
          type === "activity" && /^resetting the work folder after the story US-001: /.test(payload.summary),
      );
      const cancelledAt = performance.now();
      await line.send("cancel", { reason: "asked to stop", graceMs: 60_000 });
      const stopped = await line.until(({ type }) => type === "completion" || type === "error");
      const answerMs = performance.now() - cancelledAt;
      await line.send("ack", { seq: "seq" in stopped ? stopped.seq : 0 });
      expected(stopped).toMatchObject({ type: "completion", payload: { status: "stopped" } });
      expected(answerMs).toBeLessThan(15_000);
      expected(await worker.ended()).toBe(143);

      await worker.start();
      await using again = await worker.attach("seq" in stopped ? stopped.seq : 0);
      await again.send("task-request", request);
      const { payload, seq } = await again.untilType("completion");
      const work = await worker.read("/aimi/out/work.bundle");
      await again.send("ack", { seq });

      expected(payload).toMatchObject({
        status: "failed",
        errors: [expected.stringMatching(/WORK_TOO_LARGE/)],
      });
      fetchBundle(worker.repository, work, "refs/heads/feat/work");
      expected(git(worker.repository, "show", "refs/fetched:listed.txt")).toBe("README.md\nlisted.txt\n");
    },
  );
});
