import { describe, expect, test } from "vitest";
import type { OwnerCommand } from "../../../src/state/rules/owner-commands.ts";
import { stateWithOwnerCommand, stateWithoutOwnerCommand } from "../../../src/state/rules/owner-commands.ts";
import type { SwarmState } from "../../../src/state/rules/swarm-state.ts";
import { sendCommandsToOwner } from "../../../src/swarm/send-to-owner.ts";
import { swarmOf, worker } from "../../fakes/state/records.ts";

const stop: OwnerCommand = { of: "container", name: worker(1).containerName, wish: "stop" };
const stopAll: OwnerCommand = { of: "swarm", wish: "stop" };

/** An owner, and a state that changes in memory. */
function owned({ isOwned = true } = {}) {
  let state = swarmOf(2);
  let onChange = (): void => {};
  let holder = isOwned ? { pid: 1, host: "here", since: "", command: "swarm start" } : null;
  const asked = Promise.withResolvers<void>();
  const change = (next: (before: SwarmState) => SwarmState): void => {
    state = next(state);
    onChange();
  };
  return {
    asked: asked.promise,
    change,
    state: () => state,
    leave(): void {
      holder = null;
      onChange();
    },
    deps: {
      store: {
        read: async () => state,
        update: async (next: (before: SwarmState) => SwarmState) => {
          change(next);
          return state;
        },
      },
      owner: { holder: async () => holder },
      watch(call: () => void) {
        onChange = call;
        asked.resolve();
      },
    },
  };
}

const never = new AbortController().signal;

describe("a wish for the owner", () => {
  test("is waited for until every part of it is granted", async () => {
    const { deps, change, asked, state } = owned();
    let isDone = false;
    const answer = sendCommandsToOwner(deps, [stop, stopAll], never).finally(() => {
      isDone = true;
    });
    await asked;
    expect(state()).toMatchObject({ wish: "stop", containers: [{ wish: "stop" }, { wish: null }] });
    change((before) => stateWithoutOwnerCommand(before, stop));
    await new Promise(setImmediate);
    expect(isDone).toBe(false);
    change((before) => stateWithoutOwnerCommand(before, stopAll));

    expect(await answer).toBe(true);
  });

  test("is not even written where there is no owner", async () => {
    const { deps, state } = owned({ isOwned: false });

    expect(await sendCommandsToOwner(deps, [stop], never)).toBe(false);
    expect(state()).toEqual(swarmOf(2));
  });

  test("is not granted by an owner that is gone meanwhile", async () => {
    const { deps, asked, leave } = owned();
    const answer = sendCommandsToOwner(deps, [stop], never);
    await asked;
    leave();

    expect(await answer).toBe(false);
  });

  test("is not granted because its worker is on its next attempt by now", async () => {
    const { deps, change, asked } = owned();
    const answer = sendCommandsToOwner(deps, [stop], never);
    await asked;
    const [first] = swarmOf(1).containers;
    const next = { ...stop, name: `${first?.containerName}.a2` };
    change((before) => ({
      ...before,
      containers: before.containers.map((record) =>
        record.wish === "stop" ? { ...record, containerName: next.name } : record,
      ),
    }));
    change((before) => stateWithOwnerCommand(before, next));
    const early = await Promise.race([answer, new Promise((resolve) => setImmediate(resolve, "open"))]);
    expect(early).toBe("open");
    change((before) => stateWithoutOwnerCommand(before, next));

    expect(await answer).toBe(true);
  });

  test("is waited for no longer than whoever asks wants to", async () => {
    const { deps, asked } = owned();
    const leaving = new AbortController();
    const answer = sendCommandsToOwner(deps, [stop], leaving.signal);
    await asked;
    leaving.abort(new Error("Ctrl-C"));

    await expect(answer).rejects.toThrow("Ctrl-C");
    await expect(sendCommandsToOwner(deps, [stop], leaving.signal)).rejects.toThrow("Ctrl-C");
  });
});
