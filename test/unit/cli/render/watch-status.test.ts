import { describe, expect, test } from "vitest";
import { openLiveLines } from "../../../../src/cli/board/live-lines.ts";
import { createOutput } from "../../../../src/cli/render/create-output.ts";
import type { Output } from "../../../../src/cli/render/output.ts";
import { type WatchedSwarm, watchStatus } from "../../../../src/cli/render/watch-status.ts";
import type { ContainerRecord, SwarmState } from "../../../../src/state/rules/swarm-state.ts";
import { FakeTerminal } from "../../../fakes/cli/terminal.ts";
import { swarmOf } from "../../../fakes/state/records.ts";

/** A swarm whose state changes once for each step, as soon as the one before was shown. */
function changing(steps: readonly SwarmState[]): WatchedSwarm {
  const left = [...steps];
  let ring = (): void => {};
  const next = (): SwarmState => {
    const state = left.shift() as SwarmState;
    if (left.length > 0) setImmediate(() => ring());
    return state;
  };
  return {
    status: async () => ({
      ...{ swarm: next(), reconciled: true, corrections: [], orphans: [], owner: null },
    }),
    recordedStatus: async () => ({ swarm: next(), owner: null }),
    dependsOn: () => [],
    watchState(onChange) {
      ring = onChange;
    },
  };
}

function swarmWith(workers: number, change: Partial<ContainerRecord>): SwarmState {
  const state = swarmOf(workers);
  return { ...state, containers: state.containers.map((record) => ({ ...record, ...change })) };
}

function outputOn(terminal: FakeTerminal, stdout: string[]): Output {
  const plain = createOutput({
    ...{ json: false, forAgent: false, progress: "tty", unicode: true, signal: new AbortController().signal },
    stdout: { write: (text: string) => stdout.push(text) } as unknown as NodeJS.WriteStream,
    ...{ stderr: process.stderr, stdin: process.stdin },
  });
  return { ...plain, live: () => ({ ...openLiveLines(terminal as never), terminal }) };
}

const signal = new AbortController().signal;
const running = { status: "running" as const, startedAt: "2026-01-02T03:04:05.000Z" };

describe("swarm status -w on a terminal", () => {
  test("draws in place, never wider or longer than the window, and leaves the last picture behind", async () => {
    const terminal = new FakeTerminal(30, 5);
    const seen: string[][] = [];
    const stdout: string[] = [];
    const write = terminal.write.bind(terminal);
    terminal.write = (text) => {
      const done = write(text);
      seen.push(terminal.screen());
      return done;
    };

    const last = await watchStatus(
      { output: outputOn(terminal, stdout), signal },
      changing([swarmWith(9, running), swarmWith(9, { ...running, status: "completed" })]),
    );

    const [first = []] = seen;
    expect(first.length).toBeLessThanOrEqual(5);
    expect(first[0]).toMatch(/^swarm 3f2b8c1e.*\.\.\.$/);
    expect(first).toContain("and 9 more lines");
    expect(terminal.history()).toEqual([]);
    expect(terminal.screen().join("")).toBe("");
    expect(last?.swarm.containers[0]?.status).toBe("completed");
    expect(stdout.join("").match(/^completed /gm)).toHaveLength(9);
  });

  test("ends when there is no swarm any more", async () => {
    const swarm: WatchedSwarm = {
      ...changing([swarmWith(1, running)]),
      recordedStatus: async () => null,
      watchState: (onChange) => void setImmediate(onChange),
    };

    expect(await watchStatus({ output: outputOn(new FakeTerminal(80, 24), []), signal }, swarm)).toBeNull();
  });
});
