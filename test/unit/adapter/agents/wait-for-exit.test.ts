import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { AgentProgram } from "../../../../adapter/agents/agent.ts";
import { killProgramAfter, waitForExitOrKill } from "../../../../adapter/agents/wait-for-exit.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function program(kill: () => Promise<void>): AgentProgram {
  return { kill, exit: new Promise(() => {}) } as unknown as AgentProgram;
}

test("a kill that fails is told to whoever ends the turn, and to nobody before", async () => {
  const failing = program(() => Promise.reject(new Error("EPERM")));

  const patience = killProgramAfter(failing, 100);
  const ending = waitForExitOrKill(failing, 100);
  const told = expect(ending).rejects.toThrow("EPERM");
  await vi.advanceTimersByTimeAsync(1_000);

  await told;
  await expect(patience[Symbol.asyncDispose]()).rejects.toThrow("EPERM");
});

test("a kill that has begun is waited for, and none begins afterwards", async () => {
  let kills = 0;
  const killed = Promise.withResolvers<void>();
  const slow = program(() => {
    kills += 1;
    return killed.promise;
  });
  const calledOff = killProgramAfter(slow, 100);
  await calledOff[Symbol.asyncDispose]();

  const patience = killProgramAfter(slow, 100);
  await vi.advanceTimersByTimeAsync(1_000);
  let isOver = false;
  const over = patience[Symbol.asyncDispose]().then(() => {
    isOver = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect({ kills, isOver }).toEqual({ kills: 1, isOver: false });
  killed.resolve();
  await over;

  expect(kills).toBe(1);
});
