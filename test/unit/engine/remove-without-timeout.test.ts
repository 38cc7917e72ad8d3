import { createServer } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, vi } from "vitest";
import { openDockerEngine } from "../../../src/engine/docker/open-engine.ts";
import { removeWithoutTimeout } from "../../../src/engine/remove-without-timeout.ts";
import { test } from "../../fakes/folders.ts";

const never = new AbortController().signal;
const hold = async () => ({ [Symbol.asyncDispose]: async () => {} });
/** Nothing is paused here, and no other process begins programs. */
const help = { gate: { lockForStart: hold, lockForPause: hold }, killStartingPrograms: async () => 0 };

/** Ends with its signal, as a call of the engine does. */
function endless(signal: AbortSignal): Promise<void> {
  return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

describe("a removal that takes long", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("is told, and waited for", async () => {
    const told: string[] = [];
    const gone = Promise.withResolvers<void>();

    const removing = removeWithoutTimeout(
      () => gone.promise,
      { onSlow: (why) => void told.push(why) },
      never,
    );
    await vi.advanceTimersByTimeAsync(2_999);
    expect(told).toEqual([]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toEqual(["the engine has not finished the removal yet"]);
    gone.resolve();

    await removing;
  });

  test("is left to the engine when all work is to stop, within five seconds", async () => {
    const told: string[] = [];
    const halting = new AbortController();

    const options = { onSlow: (why: string) => void told.push(why), halt: halting.signal };
    const removing = removeWithoutTimeout(endless, options, never);
    await vi.advanceTimersByTimeAsync(1_000);
    halting.abort();
    await vi.advanceTimersByTimeAsync(4_999);

    await removing;
    expect(told.at(-1)).toContain("`swarm cleanup`");
  });

  test("ends with the command that waits for it", async () => {
    const command = new AbortController();
    const removing = removeWithoutTimeout(endless, { onSlow: () => {} }, command.signal);
    const told = expect(removing).rejects.toThrow("stopped by SIGINT");

    command.abort(new Error("stopped by SIGINT"));

    await told;
  });
});

test("a container that another one removes right now is waited for until it is gone", async ({ folder }) => {
  const socket = join(folder, "engine.sock");
  const inProgress = { message: "removal of container one is already in progress" };
  const answers = [409, 409, 404];
  let asked = 0;
  const server = createServer((_request, response) => {
    response.writeHead(answers[asked] ?? 500, { "content-type": "application/json" });
    response.end(JSON.stringify(inProgress));
    asked += 1;
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => void server.close());
  const { containers } = openDockerEngine(`unix://${socket}`, help);

  await containers.remove("one");

  expect(asked).toBe(3);
});
