import { describe, expect, test } from "vitest";
import { PauseAwareClock } from "../../../../adapter/machine/pause-aware-clock.ts";
import { IdlenessDetector } from "../../../../adapter/turn/idleness-detector.ts";

function clockAt() {
  let monotonic = 1_000;
  const clock = new PauseAwareClock(() => monotonic);
  return {
    clock,
    /** Time goes by without a look at it. */
    wait: (ms: number) => {
      monotonic += ms;
    },
    /** Time goes by as it does: with a tick every 200 ms. */
    work: (ms: number) => {
      for (let left = ms; left > 0; left -= 200) {
        monotonic += Math.min(200, left);
        clock.tick(200);
      }
    },
  };
}

describe("the clock of working time", () => {
  test("expires what has had its time, once, and nothing that was given back", () => {
    const { clock, work } = clockAt();
    const first = clock.after(1_000);
    const second = clock.after(2_000);
    second[Symbol.dispose]();

    work(800);
    expect(first.signal.aborted).toBe(false);
    work(400);
    expect(first.signal.aborted).toBe(true);
    work(2_000);
    expect(second.signal.aborted).toBe(false);
  });

  test("stands still in a gap that it sees, and when the host tells of it as well it counts once", () => {
    const { clock, wait, work } = clockAt();
    const deadline = clock.after(5_000);

    wait(60_000);
    clock.tick(200);
    expect(clock.now()).toBe(1_200);
    clock.addPause(60_000);
    work(4_000);

    expect(clock.now()).toBe(5_000);
    expect(clock.pauses).toBeGreaterThan(0);
    expect(deadline.signal.aborted).toBe(false);
    work(1_000);
    expect(deadline.signal.aborted).toBe(true);
  });

  test("counts a pause once when the host tells of it before the next tick", () => {
    const { clock, wait, work } = clockAt();
    const deadline = clock.after(5_000);

    wait(60_000);
    clock.addPause(60_000);
    clock.tick(200);
    work(5_000);

    expect(deadline.signal.aborted).toBe(true);
  });

  test("believes the host of pauses that are too short to be seen", () => {
    const { clock, wait, work } = clockAt();
    const deadline = clock.after(5_000);

    wait(4_000);
    clock.tick(200);
    clock.addPause(4_000);
    work(4_000);
    expect(deadline.signal.aborted).toBe(false);
    work(1_000);

    expect(deadline.signal.aborted).toBe(true);
  });

  test("a busy machine is no pause", () => {
    const { clock, wait } = clockAt();
    const deadline = clock.after(5_000);

    wait(9_000);
    clock.tick(200);

    expect(deadline.signal.aborted).toBe(true);
    expect(clock.pauses).toBe(0);
  });
});

describe("an idle agent", () => {
  const limits = { idleMs: 10_000, toolMs: 60_000 };
  const agentAt = () => {
    let now = 0;
    const idleness = new IdlenessDetector({ now: () => now });
    return { idleness, work: (ms: number) => (now += ms) };
  };
  const process = (pid: number, cpuMs: number) => ({ pid, cpuMs, rssBytes: 0, threads: 1 });

  test("is one that writes nothing and computes next to nothing", () => {
    const { idleness, work } = agentAt();
    idleness.noteProcesses([process(5, 300)]);

    work(9_999);
    expect(idleness.verdict(limits)).toBeNull();
    idleness.noteProcesses([process(5, 600), process(6, 200)]);
    work(1);

    expect(idleness.verdict(limits)).toContain("for 10 s");
    expect(idleness.idleMs).toBe(10_000);
  });

  test.each<[name: string, sign: (idleness: IdlenessDetector) => void]>([
    ["writes", (idleness) => idleness.noteOutput()],
    ["computes", (idleness) => idleness.noteProcesses([process(5, 1_000)])],
    [
      "computes in many small programs",
      (idleness) => idleness.noteProcesses([5, 6, 7, 8].map((pid) => process(pid, 250))),
    ],
  ])("is none that %s", (_name, sign) => {
    const { idleness, work } = agentAt();

    work(9_000);
    sign(idleness);
    work(9_000);
    expect(idleness.verdict(limits)).toBeNull();
    work(1_000);

    expect(idleness.verdict(limits)).not.toBeNull();
  });

  test("may wait for a tool, as long as that may last", () => {
    const { idleness, work } = agentAt();
    idleness.noteTool({ id: "one", state: "open" });
    // Told of again, it is not younger.
    work(30_000);
    idleness.noteTool({ id: "one", state: "open" });

    work(29_999);
    expect(idleness.verdict(limits)).toBeNull();
    work(1);
    expect(idleness.verdict(limits)).toContain("tool call exceeds");
    idleness.noteTool({ id: "one", state: "ended" });

    expect(idleness.verdict(limits)).not.toContain("tool");
  });

  test("computing that was seen before counts once", () => {
    const { idleness, work } = agentAt();
    for (let look = 0; look < 20; look += 1) {
      idleness.noteProcesses([process(5, 900)]);
      work(500);
    }

    expect(idleness.verdict(limits)).not.toBeNull();
  });
});
