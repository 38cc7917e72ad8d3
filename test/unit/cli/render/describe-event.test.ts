import { describe, expect, test } from "vitest";
import { describeEventFacts } from "../../../../src/cli/render/describe-event.ts";
import { describeOwnerEvent } from "../../../../src/cli/render/describe-worker-message.ts";
import type { KeptEvent } from "../../../../src/contract/event.ts";
import { SwarmError } from "../../../../src/errors/errors.ts";
import { createEventFilter } from "../../../../src/events/rules/event-filter.ts";
import { hasControlCharacters } from "../../../../src/text/sanitize-text.ts";
import { now, swarmOf } from "../../../fakes/state/records.ts";

const commit = "c".repeat(40);
const reason = { code: "AGENT_CRASH", message: "it crashed" };
const why = "the disk is full";

describe("events in words", () => {
  test.each([
    [
      { event: "begun", swarmId: "3f2b8c1e", workers: 3, parallel: 2 },
      "swarm 3f2b8c1e started with 3 workers, at most 2 in parallel",
    ],
    [{ event: "begun", swarmId: "3f2b8c1e", workers: ["a"] }, "swarm 3f2b8c1e started with 1 worker"],
    [{ event: "waiting", why }, "waits: the disk is full"],
    [{ event: "started" }, "started"],
    [{ event: "created", containerId: commit }, "created, container cccccccccccc"],
    [
      { event: "line", status: "stalled", why: "no word for 20 s" },
      "connection to the worker stalled: no word for 20 s",
    ],
    [{ event: "collected", commit, ref: "refs/aimi/x/y" }, "collected cccccccccc at refs/aimi/x/y"],
    [
      { event: "refused", ref: "refs/aimi/x/y", reason: { code: "COLLECT_FAILED", message: "its pack" } },
      "refused for refs/aimi/x/y, COLLECT_FAILED: its pack",
    ],
    [
      { event: "published", kind: "published", ref: "refs/heads/feat/x", how: "created", aside: null },
      "published feat/x, created",
    ],
    [
      {
        ...{ event: "published", kind: "published", ref: "refs/heads/feat/x-swarm-3f2b8c", how: "created" },
        aside: { branch: "feat/x", why: "in-use", reason: "the branch is checked out" },
      },
      "published feat/x-swarm-3f2b8c, created, not on feat/x: the branch is checked out",
    ],
    [
      {
        ...{ event: "published", kind: "refused" },
        obstacles: [
          { branch: "feat", why: "elsewhere", reason: "it is elsewhere" },
          { branch: "feat-swarm-1", why: "failed", reason: "git failed" },
        ],
      },
      "the work got no branch: feat: it is elsewhere; feat-swarm-1: git failed",
    ],
    [
      {
        event: "sensitive",
        paths: [
          { path: ".github/workflows/a.yml", why: "workflow" },
          { path: "l", why: "link-out" },
        ],
      },
      "changed files that need review: .github/workflows/a.yml (workflow); l (link out)",
    ],
    [{ event: "ended", status: "completed", reason: null }, "completed"],
    [{ event: "ended", status: "failed", reason }, "failed, AGENT_CRASH: it crashed"],
    [{ event: "skipped", reason }, "skipped, AGENT_CRASH: it crashed"],
    [{ event: "restarted", why, waitMs: 2_000 }, "starts again in 2 s: the disk is full"],
    [{ event: "retried", attempt: 2, why, waitMs: 8_000 }, "is retried, attempt 2 in 8 s: the disk is full"],
    [{ event: "paused", why: "the user paused the worker" }, "paused: the user paused the worker"],
    [{ event: "unpaused", why: "the user unpaused the worker" }, "unpaused: the user unpaused the worker"],
    [{ event: "stopping", why: "asked to stop" }, "stopping: asked to stop"],
    [{ event: "wish", wish: "retry" }, "command to retry"],
    [{ event: "wish", wish: "retry", reason }, "command to retry, refused, AGENT_CRASH: it crashed"],
    [{ event: "appended" }, "added to the running swarm"],
    [{ event: "kept" }, "the worker's container was stopped; swarm keeps the container and its files"],
    [{ event: "removed" }, "the worker's container was removed"],
    [{ event: "finished", completed: 3, failed: 1, stopped: 0 }, "swarm finished: 3 completed, 1 failed"],
    [{ event: "finished", counts: { completed: 3 } }, "swarm finished: 3 completed"],
    [{ event: "lost", events: 7 }, "7 events could not be written to the event log"],
    [
      { event: "of-a-later-version", number: 7, text: "why", more: {} },
      "of-a-later-version, number 7, text why",
    ],
  ])("%j", (event, words) => {
    expect(describeEventFacts(event)).toBe(words);
  });

  test("of any form are words, in one line that is clean", () => {
    const names = [
      "begun",
      "published",
      "sensitive",
      "ended",
      "line",
      "finished",
      "constructor",
      "__proto__",
    ];
    const values = [
      null,
      7,
      [],
      {},
      "\u001b[2J\nx\u202e",
      [null],
      [7],
      { code: 1 },
      { code: "A", message: {} },
    ];
    const facts = ["reason", "why", "ref", "paths", "obstacles", "aside", "kind", "status", "swarmId"];

    for (const event of names)
      for (const value of values) {
        const words = describeEventFacts({
          event,
          ...Object.fromEntries(facts.map((fact) => [fact, value])),
        });
        expect(words).not.toMatch(/\n|undefined|\[object/);
        expect(hasControlCharacters(words)).toBe(false);
        expect(words.length).toBeLessThanOrEqual(1_000);
      }
  });

  test("while a swarm runs have their worker before them, and a line that is well says nothing", () => {
    expect(describeOwnerEvent({ event: "ended", worker: "login", status: "failed", reason })).toBe(
      "login  failed, AGENT_CRASH: it crashed",
    );
    expect(describeOwnerEvent({ event: "stopping", why: "asked to stop" })).toBe("stopping: asked to stop");
    expect(describeOwnerEvent({ event: "line", worker: "login", status: "live", why: "" })).toBeNull();
  });
});

describe("which events are wanted", () => {
  const state = swarmOf(2);
  const of = (facts: Partial<KeptEvent>): KeptEvent => ({
    ...{ at: "2026-01-01T00:00:00.000Z", swarmId: state.swarmId, event: "started" },
    ...facts,
  });
  const other = of({ swarmId: "11111111-5a4d-4e6f-8a9b-0c1d2e3f4a5b", worker: "1" });
  const [whole, mine, others] = [of({}), of({ worker: "1" }), of({ worker: "2" })];
  const later = of({ swarmId: other.swarmId, at: "2026-01-03T00:00:00.000Z" });
  const all = [whole, mine, others, other, later];
  const wanted = (worker: string | null, swarm: string | null, present: typeof state | null = state) =>
    all.filter(createEventFilter(present, { worker, swarm, kind: null }, now));

  test("without words: the present swarm's, and those of a swarm that begins later", () => {
    expect(wanted(null, null)).toEqual([whole, mine, others, later]);
  });

  test("where there is no swarm: all", () => {
    expect(wanted(null, null, null)).toEqual(all);
  });

  test("of one worker, named as everywhere; of another swarm's by its whole name", () => {
    expect(wanted("1", null)).toEqual([mine]);
    expect(wanted("@all", null)).toEqual([mine, others]);
    expect(wanted("1", "1111")).toEqual([other]);
    expect(wanted("1", "all")).toEqual([mine, other]);
    expect(() => wanted("nobody", null)).toThrow(SwarmError);
  });

  test("of one kind: what agents did outside, of everybody or of one worker", () => {
    const [call, refused, foreign] = [
      of({ worker: "1", event: "called", kind: "model" }),
      of({ worker: "2", event: "denied", kind: "egress" }),
      of({ worker: "1", event: "called", kind: "model", swarmId: other.swarmId }),
    ];
    const kept = (worker: string | null, kind: "model" | "egress" | null) =>
      [...all, call, refused, foreign].filter(createEventFilter(state, { worker, swarm: null, kind }, now));

    expect(kept(null, "model")).toEqual([call]);
    expect(kept(null, "egress")).toEqual([refused]);
    expect(kept("2", "model")).toEqual([]);
    expect(kept("2", "egress")).toEqual([refused]);
    expect(kept(null, null)).toEqual([whole, mine, others, later, call, refused]);
  });

  test("of an earlier swarm, by the beginning of its id, or of all", () => {
    expect(wanted(null, "1111")).toEqual([other, later]);
    expect(wanted(null, state.swarmId.slice(0, 6))).toEqual([whole, mine, others]);
    expect(wanted(null, "all")).toEqual(all);
  });
});
