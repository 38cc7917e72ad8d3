import { describe, expect, test } from "vitest";
import type { ContainerRecord, SwarmState } from "../../../src/contract/swarm-state.ts";
import { type WaitRequest, waitUntilEnded } from "../../../src/swarm/wait-for-workers.ts";
import type { LockHolder } from "../../../src/text/lock-holder.ts";
import { swarmOf } from "../../fakes/state/records.ts";

const owner: LockHolder = { pid: 1, host: "here", since: "2026-01-02T03:04:05.000Z", command: "swarm start" };

/** A swarm that is written by the test, and rings when it is. */
class WrittenSwarm {
  state: SwarmState;
  holder: LockHolder | null = owner;
  #ring = (): void => {};
  readonly ended: string[] = [];

  constructor(...statuses: readonly ContainerRecord["status"][]) {
    const empty = swarmOf(statuses.length);
    this.state = {
      ...empty,
      containers: empty.containers.map((r, at) => ({ ...r, status: statuses[at] ?? "pending" })),
    };
  }

  write(change: (state: SwarmState) => SwarmState): void {
    this.state = change(this.state);
    this.#ring();
  }

  set(index: number, change: Partial<ContainerRecord>): void {
    this.write((state) => ({
      ...state,
      containers: state.containers.map((record, at) => (at === index ? { ...record, ...change } : record)),
    }));
  }

  leave(): void {
    this.holder = null;
    this.#ring();
  }

  wait(words: Partial<WaitRequest> = {}, signal: AbortSignal = new AbortController().signal) {
    return waitUntilEnded(
      {
        store: { read: async () => this.state },
        owner: { holder: async () => this.holder },
        watch: (onChange) => {
          this.#ring = onChange;
        },
      },
      {
        ...{ slugs: null, timeoutMs: null },
        onEnded: ({ containerName, status }) => this.ended.push(`${containerName} ${status}`),
        ...words,
      },
      signal,
    );
  }
}

/** So many turns let what was rung be looked at. */
async function looked(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

describe("waiting for workers", () => {
  test("ends when all are completed, and tells of each once", async () => {
    const swarm = new WrittenSwarm("completed", "running", "pending");
    const waiting = swarm.wait();

    await looked();
    swarm.set(2, { status: "completed" });
    await looked();
    swarm.set(1, { status: "completed" });

    expect((await waiting).end).toBe("ended");
    expect(swarm.ended.map((text) => text.slice(-11))).toEqual(["1 completed", "3 completed", "2 completed"]);
  });

  test("goes on after a failure while an owner is there who may try again", async () => {
    const swarm = new WrittenSwarm("failed");
    let isOver = false;
    const waiting = swarm.wait().finally(() => {
      isOver = true;
    });
    await looked();
    expect(isOver).toBe(false);

    swarm.set(0, { status: "pending", attempt: 2 });
    await looked();
    swarm.set(0, { status: "completed" });

    expect(await waiting).toMatchObject({ end: "ended", workers: [{ status: "completed", attempt: 2 }] });
  });

  test("ends after a failure when the owner goes", async () => {
    const swarm = new WrittenSwarm("completed", "failed");
    const waiting = swarm.wait();
    await looked();

    swarm.leave();

    expect((await waiting).end).toBe("ended");
  });

  test("for some of them does not wait for the others", async () => {
    const swarm = new WrittenSwarm("running", "failed");

    const { end, workers } = await swarm.wait({ slugs: ["2"] });

    expect(end).toBe("ended");
    expect(workers.map(({ status }) => status)).toEqual(["failed"]);
  });

  test("waits for those that are added meanwhile", async () => {
    const swarm = new WrittenSwarm("running");
    const waiting = swarm.wait();
    await looked();

    swarm.write((state) => ({
      ...state,
      containers: new WrittenSwarm("completed", "running").state.containers,
    }));
    await looked();
    swarm.set(1, { status: "completed" });

    expect((await waiting).workers).toHaveLength(2);
  });

  test.for<[status: ContainerRecord["status"]]>([["pending"], ["running"], ["stopped"]])(
    "one that is %s stands still when nobody carries it out",
    async ([status]) => {
      const swarm = new WrittenSwarm("completed", status);
      swarm.holder = null;

      expect((await swarm.wait()).end).toBe("unowned");
    },
  );

  test("one that was stopped is waited for while somebody is there who could go on with it", async () => {
    const swarm = new WrittenSwarm("stopped");
    const waiting = swarm.wait({ timeoutMs: 1 });

    expect((await waiting).end).toBe("timeout");
  });

  test("ends when another swarm takes the place of this one, with what was seen of it last", async () => {
    const swarm = new WrittenSwarm("running");
    const { swarmId } = swarm.state;
    const waiting = swarm.wait();
    await looked();

    swarm.write((state) => ({ ...state, swarmId: "00000000-0000-4000-8000-000000000000" }));

    expect(await waiting).toMatchObject({ end: "replaced", state: { swarmId } });
  });

  test("ends with the reason of the signal, and with what cannot be read", async () => {
    const stopping = new AbortController();
    const swarm = new WrittenSwarm("running");
    const waiting = swarm.wait({}, stopping.signal);
    await looked();
    stopping.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");

    const broken = waitUntilEnded(
      {
        store: { read: () => Promise.reject(new Error("broken")) },
        owner: { holder: async () => owner },
        watch: () => {},
      },
      { slugs: null, timeoutMs: null, onEnded: () => {} },
      new AbortController().signal,
    );
    await expect(broken).rejects.toThrow("broken");
  });
});
