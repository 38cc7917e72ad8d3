import { describe, expect, test } from "vitest";
import { FatalWorkerError, TaskLimitReached } from "../../../../adapter/machine/fatal-worker-error.ts";
import { executeTask, type TaskExecutionDeps } from "../../../../adapter/story/execute-task.ts";
import type { StoryStatus } from "../../../../src/contract/swarm-state.ts";
import { storyWith, taskFileWith } from "../../../fakes/tasks/task-files.ts";

const base = "a".repeat(40);

/** A task between two stories: nothing of it may be begun in these tests. */
function between(statusById: Readonly<Record<string, StoryStatus>>): {
  deps: TaskExecutionDeps;
  said: unknown[];
} {
  const said: unknown[] = [];
  const stories = Object.keys(statusById).map((id) => storyWith({ id }));
  const known = new Map(Object.entries(statusById).filter(([, status]) => status !== "pending"));
  const deps = {
    ...{ task: { taskFile: taskFileWith({ stories }), request: {} }, sandbox: { paths: {} } },
    history: {
      statusById: known,
      commitById: new Map(),
      startCommitById: new Map(),
      lastCheckpoint: null,
      lastBundle: null,
    },
    workspace: { spec: { base }, tip: async () => base },
    record: async (message: unknown) => void said.push(message),
    onStory: () => {},
  } as unknown as TaskExecutionDeps;
  return { deps, said };
}

const over = (leaves: "result" | "nothing") =>
  AbortSignal.abort(new TaskLimitReached("AGENT_LIMIT_REACHED", "the time is over", leaves));

describe("a limit of the task that comes between two stories", () => {
  test("changes nothing of a task whose stories are all completed", async () => {
    const { deps } = between({ "US-001": "completed", "US-002": "completed" });

    expect(await executeTask(deps, over("result"))).toMatchObject({ status: "completed", errors: [] });
    expect(await executeTask(deps, over("nothing"))).toMatchObject({ status: "completed", errors: [] });
  });

  test("leaves what was done and begins nothing more", async () => {
    const { deps, said } = between({ "US-001": "completed", "US-002": "pending" });

    expect(await executeTask(deps, over("result"))).toMatchObject({
      status: "failed",
      errors: ["AGENT_LIMIT_REACHED: the time is over"],
    });
    expect(said).toEqual([]);
  });

  test("is the worker's end where nothing could go on", async () => {
    const { deps } = between({ "US-001": "pending" });

    const end = executeTask(deps, over("nothing"));

    await expect(end).rejects.toThrow(FatalWorkerError);
    await expect(end).rejects.toMatchObject({ code: "AGENT_LIMIT_REACHED" });
  });

  test("a cancel is thrown on, for a later run", async () => {
    const { deps } = between({ "US-001": "pending" });
    const cancel = { reason: "engine", graceMs: 1 };

    await expect(executeTask(deps, AbortSignal.abort(cancel))).rejects.toBe(cancel);
  });
});
