import { describe, expect, test } from "vitest";
import type { Containers } from "../../../../src/engine/containers.ts";
import { type PollingClock, watchSandboxLimits } from "../../../../src/sandbox/task/watch-limits.ts";

const MB = 1_000_000;
const GB = 1_000 * MB;

interface Watched {
  readonly code: string;
  readonly atMs: number;
  readonly looks: number;
}

/** A sandbox whose disk and processes are what they are at a time, and whose looks take no time. */
async function watch(
  at: (ms: number) => { readonly bytes: number; readonly pids?: number },
  { diskBytes = 8 * GB, untilMs = 600_000 } = {},
): Promise<Watched> {
  let nowMs = 0;
  let looks = 0;
  const stopping = new AbortController();
  const time: PollingClock = {
    now: () => nowMs,
    wait: async (ms) => {
      nowMs += ms;
      if (nowMs > untilMs) stopping.abort();
      stopping.signal.throwIfAborted();
    },
  };
  const containers = {
    inspect: async () => {
      looks += 1;
      return { diskBytes: at(nowMs).bytes };
    },
    stats: async () => ({ pids: at(nowMs).pids ?? 1 }),
    exec: async () => ({
      output: (async function* () {
        yield { stream: "stdout", bytes: Buffer.from("5\n0\n") };
      })(),
      exit: async () => ({ kind: "exited", code: 0 }),
      [Symbol.asyncDispose]: async () => {},
    }),
  } as unknown as Containers;
  const limits = { diskBytes, files: 100, pids: 64 };
  const code = await watchSandboxLimits(
    { containers, containerId: "c" },
    { runtime: "runc", name: "it", limits, mounted: [] },
    stopping.signal,
    time,
  ).then(
    (error) => error.code,
    () => "nothing",
  );
  return { code, atMs: nowMs, looks };
}

describe("the disk of a sandbox", () => {
  test.for([0.7 * MB, 2 * MB, 5 * MB])(
    "that fills up with %d bytes in a millisecond is stopped soon after its limit",
    async (pace) => {
      const { code, atMs } = await watch((ms) => ({ bytes: ms * pace }));

      expect(code).toBe("DISK_FULL");
      expect(atMs - (8 * GB) / pace).toBeLessThan(500);
    },
  );

  test("control: with three seconds between two looks the same writer is later", () => {
    const limitMs = (8 * GB) / (5 * MB);

    expect(Math.ceil(limitMs / 3_000) * 3_000 - limitMs).toBeGreaterThan(1_000);
  });

  test("that hardly grows is looked at every three seconds", async () => {
    const { code, looks } = await watch((ms) => ({ bytes: ms * 100 }), { untilMs: 300_000 });

    expect([code, looks]).toEqual(["nothing", 100]);
  });
});

describe("the processes of a sandbox", () => {
  test("that stay at their limit end it", async () => {
    const { code, atMs } = await watch((ms) => ({ bytes: 0, pids: ms > 10_000 ? 64 : 3 }));

    expect(code).toBe("PROCESSES_EXHAUSTED");
    expect(atMs).toBeLessThanOrEqual(16_000);
  });

  test("that only touch it do not, however often the disk is looked at", async () => {
    // From 2 s on the disk fills up so fast that looks follow each other within milliseconds.
    const { code } = await watch((ms) => ({
      bytes: Math.max(0, ms - 2_000) * 4 * MB,
      pids: ms > 3_000 && ms < 4_500 ? 64 : 3,
    }));

    expect(code).toBe("DISK_FULL");
  });
});
