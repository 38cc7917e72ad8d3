import { describe, expect, test } from "vitest";
import { IdlenessDetector } from "../../../../adapter/turn/idleness-detector.ts";

const limits = { idleMs: 10_000, toolMs: 60_000 };

function watch() {
  let now = 0;
  const idleness = new IdlenessDetector({ now: () => now });
  return {
    idleness,
    pass: (ms: number) => {
      now += ms;
    },
    computed: (...cpuMsByPid: [pid: number, cpuMs: number][]) =>
      idleness.noteProcesses(cpuMsByPid.map(([pid, cpuMs]) => ({ pid, cpuMs, rssBytes: 0 }) as never)),
  };
}

describe("an agent in silence", () => {
  test("hangs after its time, and not while a tool is open or it computes", () => {
    const { idleness, pass, computed } = watch();

    idleness.noteTool({ id: "1", state: "open" });
    pass(11_000);
    expect(idleness.verdict(limits)).toBeNull();
    idleness.noteTool({ id: "1", state: "ended" });
    expect(idleness.verdict(limits)).toMatch(/almost no CPU time for 11 s$/);
    computed([7, 1_500]);
    expect(idleness.verdict(limits)).toBeNull();
    pass(11_000);
    computed([7, 1_600]);
    expect(idleness.verdict(limits)).not.toBeNull();
  });

  test("may open and forget any number of tools: the newest are remembered", () => {
    const { idleness, pass } = watch();

    for (let id = 0; id < 50_000; id += 1) {
      idleness.noteTool({ id: `${id}`, state: "open" });
      if (id === 40_000) pass(30_000);
    }
    pass(40_000);
    expect(idleness.verdict(limits)).toBeNull();
    for (let id = 49_000; id < 50_000; id += 1) idleness.noteTool({ id: `${id}`, state: "ended" });

    expect(idleness.verdict(limits)).toMatch(/for 70 s$/);
  });

  test("is judged by the processes that it has: those that are gone are forgotten", () => {
    const { idleness, pass, computed } = watch();
    computed([7, 5_000]);
    pass(11_000);

    computed();
    computed([7, 900]);
    expect(idleness.verdict(limits)).not.toBeNull();
    computed([7, 1_900]);
    expect(idleness.verdict(limits)).toBeNull();
  });
});
