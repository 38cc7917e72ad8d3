import type Docker from "dockerode";
import { describe, expect, test } from "vitest";
import { type AbortOption, createEngineCaller } from "../../../../src/engine/docker/call-engine.ts";

const id = "ab".repeat(32);
const frozen = { Id: id, Names: ["/aimi-one"], State: "paused" };
const limitMs = 20;

/** An engine that lists these containers, or does not answer even that. */
function caller(listed: readonly object[] | Error) {
  const ended: string[] = [];
  const listContainers = async (): Promise<readonly object[]> => {
    if (listed instanceof Error) throw listed;
    return listed;
  };
  const call = createEngineCaller({
    docker: { listContainers } as unknown as Docker,
    endpoint: "unix:///there",
    killStartingPrograms: async (container, { onlyFrozen }) =>
      ended.push(onlyFrozen ? `${container} if frozen` : container),
  });
  return { call, ended };
}

/** Never answers, and tells whether it was given up. */
function unanswered(): {
  readonly ask: (ending: AbortOption) => Promise<never>;
  readonly isOver: () => boolean;
} {
  let seen: AbortSignal | undefined;
  return {
    ask: ({ abortSignal }) => {
      seen = abortSignal;
      return new Promise(() => {});
    },
    isOver: () => seen?.aborted === true,
  };
}

describe("a call that the engine does not answer", () => {
  test("ends with what it was and how long it was waited for", async () => {
    const { call, ended } = caller([frozen]);
    const { ask, isOver } = unanswered();

    await expect(call({ operation: "list volumes", limitMs }, ask)).rejects.toMatchObject({
      code: "ENGINE_FAILED",
      message: "The engine could not list volumes: the engine did not answer within 0.02 s",
    });

    expect(isOver()).toBe(true);
    expect(ended).toEqual([]);
  });

  test.each([id, id.slice(0, 12), "aimi-one"])(
    "about the frozen container %s helps it, then says that it is stuck",
    async (container) => {
      const { call, ended } = caller([frozen]);
      const { ask, isOver } = unanswered();

      await expect(call({ operation: "unpause it", container, limitMs }, ask)).rejects.toMatchObject({
        ...{ code: "CONTAINER_STUCK", exitCode: 3 },
        hint: expect.stringContaining(`pkill -KILL -f 'exec --process .*${id}'`),
      });

      expect([isOver(), ended]).toEqual([true, [id]]);
    },
  );

  test("about a container that runs is the engine's failure, and ends in it only what the kernel keeps frozen", async () => {
    const other = { ...frozen, Id: "cd".repeat(32), Names: ["/aimi-other"] };
    const { call, ended } = caller([other, { ...frozen, State: "running" }]);
    const meaning = { operation: "stop it", container: "aimi-one", limitMs };

    await expect(call(meaning, unanswered().ask)).rejects.toMatchObject({ code: "ENGINE_FAILED" });

    expect(ended).toEqual([`${id} if frozen`]);
  });

  test("means that there is none, where it does not answer anything else either", async () => {
    const { call } = caller(new Error("gone"));
    const meaning = { operation: "stop it", container: "aimi-one", limitMs };

    await expect(call(meaning, unanswered().ask)).rejects.toMatchObject({ code: "ENGINE_UNREACHABLE" });
  });

  test("ends with the caller's own reason, when that comes first", async () => {
    const { call } = caller([frozen]);
    const stopping = new AbortController();
    const asked = call({ operation: "unpause it", container: id, signal: stopping.signal }, unanswered().ask);

    stopping.abort(new Error("enough"));

    await expect(asked).rejects.toThrow("enough");
  });
});

test("a call that is answered is not given up afterwards", async () => {
  const { call, ended } = caller([frozen]);
  let given: AbortSignal | undefined;

  const answer = await call(
    { operation: "open a stream", container: id, limitMs },
    async ({ abortSignal }) => {
      given = abortSignal;
      return "answered";
    },
  );
  // It would be given up by now, had the watch not ended with the answer.
  await expect(call({ operation: "wait", limitMs: 3 * limitMs }, unanswered().ask)).rejects.toMatchObject({
    code: "ENGINE_FAILED",
  });

  expect([answer, given?.aborted, ended]).toEqual(["answered", false, []]);
});
