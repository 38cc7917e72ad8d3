import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openSwarmBoard, type SwarmBoard } from "../../../../src/cli/board/swarm-board.ts";
import { displayWidth } from "../../../../src/cli/board/text-width.ts";
import type { AdapterMessage } from "../../../../src/protocol/rules/protocol-messages.ts";
import {
  newSwarmState,
  type SwarmState,
  stateWithNewRecord,
} from "../../../../src/state/rules/swarm-state.ts";
import { countStoryProgress, newStoryRecords } from "../../../../src/state/rules/worker-record.ts";
import { FakeTerminal } from "../../../fakes/cli/terminal.ts";
import { now, recordWith } from "../../../fakes/state/records.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Options {
  readonly columns?: number;
  readonly rows?: number;
  readonly unicode?: boolean;
  readonly mode?: "tty" | "plain" | "json" | "quiet";
}

async function openBoard({ columns = 80, rows = 24, unicode = true, mode = "tty" }: Options = {}) {
  const terminal = new FakeTerminal(columns, rows);
  const board = await openSwarmBoard({
    ...{ mode, unicode, terminal: terminal as never },
    style: (_format, text) => `\u001b[36m${text}\u001b[39m`,
  });
  return { terminal, board };
}

/** A swarm of pending workers with three stories each, in the order of their slugs. */
function swarmWith(...slugs: string[]): SwarmState {
  const project = { id: "0123456789abcdef0123456789abcdef", slug: "sample", root: "/sample" };
  const swarm = newSwarmState(project, "3f2b8c1e-5a4d-4e6f-8a9b-0c1d2e3f4a5b", now);
  return slugs.reduce((state, slug) => {
    const stories = newStoryRecords(["US-001", "US-002", "US-003"]);
    const containerName = `aimi-012345-3f2b8c-${slug}`;
    const work = {
      containerName,
      taskFilePath: `.aimi/tasks/${slug}-tasks.json`,
      branchName: `feat/${slug}`,
    };
    return stateWithNewRecord(state, { ...work, stories, storyProgress: countStoryProgress(stories) }, now);
  }, swarm);
}

const fifty = Array.from({ length: 50 }, (_, index) => `task-${index + 1}`);

function say(board: SwarmBoard, slug: string, type: string, payload: object): void {
  const head = { timestamp: now.toISOString(), swarmId: "s", attempt: 1, containerId: "c", seq: 1 };
  board.message(slug, { type, ...head, payload } as unknown as AdapterMessage);
}

function act(board: SwarmBoard, slug: string, summary: string, storyId = "US-001"): void {
  say(board, slug, "activity", { storyId, kind: "text", summary });
}

function run(board: SwarmBoard, slug: string): void {
  board.event({ event: "started", worker: slug });
  board.event({ event: "created", worker: slug, containerId: "0123" });
  say(board, slug, "progress-update", { storyId: "US-001", status: "in_progress", output: "" });
}

function end(board: SwarmBoard, slug: string, code?: string): void {
  const reason = code ? { code, message: "npm test failed" } : null;
  board.event({ event: "ended", worker: slug, status: code ? "failed" : "completed", reason });
}

/** Long enough for everything to have been drawn, too short for the next second. */
const drawn = (): void => void vi.advanceTimersByTime(300);

describe("a swarm on a terminal", () => {
  test("has a line for each worker that runs, one for those that wait, and one for all", async () => {
    const { terminal, board } = await openBoard();
    board.begun(swarmWith("login", "search", "billing", "docs"));
    board.event({ event: "waiting", worker: "billing", why: "for a free slot" });
    board.event({ event: "waiting", worker: "docs", why: "for what they depend on" });
    run(board, "login");
    run(board, "search");
    say(board, "login", "progress-update", { storyId: "US-001", status: "completed", output: "" });
    const usage = { inputTokens: 9_000, outputTokens: 500, cacheReadTokens: 0, cacheWriteTokens: 0 };
    say(board, "login", "usage", { storyId: "US-002", ...usage, costUsd: 0.421 });
    act(board, "login", "npm test", "US-002");
    vi.advanceTimersByTime(65_000);

    expect(terminal.screen()).toEqual([
      "▸ running    login    1/3   1:05  feat/login    9.5k tok  US-002 npm test",
      "▸ running    search   0/3   1:05  feat/search             US-001",
      "2 waiting: 1 for a free slot, 1 for what they depend on",
      "2 running  1/12 stories  1:05  9.5k tokens  $0.42",
      "",
    ]);
  });

  test("of fifty workers fits, with those that run and those that ended last", async () => {
    const { terminal, board } = await openBoard();
    terminal.write("$ swarm start --all\r\n");
    board.begun(swarmWith(...fifty));
    for (const slug of fifty) board.event({ event: "waiting", worker: slug, why: "for a free slot" });
    for (const slug of fifty.slice(0, 30)) {
      run(board, slug);
      vi.advanceTimersByTime(1_000);
      drawn();
      if (slug === "task-3") end(board, slug, "CHECK_FAILED");
      else if (slug !== "task-5" && Number(slug.slice(5)) < 26) end(board, slug);
    }
    drawn();

    const screen = terminal.screen();
    expect(screen).toHaveLength(24);
    expect(screen.map((line) => line.slice(0, 21).trim())).toEqual([
      "✗ failed     task-3",
      "▸ running    task-5",
      ...[...fifty.slice(12, 25)].map((slug) => `✓ completed  ${slug}`),
      ...fifty.slice(25, 30).map((slug) => `▸ running    ${slug}`),
      "and 10 more: 10 compl",
      "20 waiting for a free",
      "6 running, 23 complet",
      "",
    ]);
    expect(terminal.history()).toEqual(["$ swarm start --all"]);
  });

  test("of fifty workers can be read in a window of 40 columns and 10 rows", async () => {
    const { terminal, board } = await openBoard({ columns: 40, rows: 10 });
    board.begun(swarmWith("a-name-that-is-longer-than-most-1", ...fifty));
    for (const slug of fifty.slice(0, 40)) run(board, slug);
    act(board, "task-1", "npm run a-script-with-a-long-name", "US-001");
    for (const slug of fifty.slice(1, 20)) end(board, slug, "AGENT_CRASH");
    drawn();

    expect(terminal.screen()).toEqual([
      "▸ running   task-1    0/3 US-001 npm r…",
      "▸ running   task-21   0/3 US-001",
      "▸ running   task-22   0/3 US-001",
      "▸ running   task-23   0/3 US-001",
      "▸ running   task-24   0/3 US-001",
      "▸ running   task-25   0/3 US-001",
      "and 34 more: 15 running, 19 failed",
      "11 waiting",
      "21 running, 19 failed  0/153 stories",
      "",
    ]);
  });

  test.each([
    [1, 1],
    [3, 2],
    [16, 4],
    [500, 200],
  ])("is no wider or longer than a window of %s columns and %s rows", async (columns, rows) => {
    const { terminal, board } = await openBoard({ columns, rows });
    board.begun(swarmWith(...fifty));
    for (const slug of fifty.slice(0, 40)) run(board, slug);
    drawn();
    drawn();

    expect(terminal.history()).toEqual([]);
    expect(Math.max(...terminal.screen().map(displayWidth))).toBeLessThanOrEqual(columns);
    expect(terminal.screen().length).toBeLessThanOrEqual(rows);
  });

  test.each([
    [{ event: "started" }, "◦ starting"],
    [
      { event: "line", status: "stalled", why: "the adapter sent nothing" },
      "! stalled",
      "the adapter sent nothing",
    ],
    [{ event: "line", status: "lost", why: "the engine is away" }, "? lost", "the engine is away"],
    [{ event: "paused", why: "the user paused the worker" }, "= paused", "the user paused the worker"],
    [{ event: "stopping", why: "asked to stop" }, "▾ stopping", "asked to stop"],
    [
      { event: "restarted", why: "it was killed", waitMs: 2_000 },
      "↻ retrying",
      "again in 2 s: it was killed",
    ],
    [
      { event: "retried", attempt: 2, why: "a crash", waitMs: 4_000 },
      "↻ retrying",
      "attempt 2 in 4 s: a crash",
    ],
    [{ event: "ended", status: "completed", reason: null }, "✓ completed", "feat/a"],
    [{ event: "ended", status: "failed", reason: { code: "C", message: "m" } }, "✗ failed", "C: m"],
    [{ event: "skipped", reason: { code: "C", message: "m" } }, "- skipped", "C: m"],
    [{ event: "ended", status: "stopped", reason: { code: "C", message: "m" } }, "▪ stopped", "C: m"],
  ])("shows %o as %s with its reason", async (event, words, why = "") => {
    const { terminal, board } = await openBoard({ columns: 60 });
    board.begun(swarmWith("a"));
    run(board, "a");
    board.event({ worker: "a", ...event });
    drawn();

    const [line = ""] = terminal.screen();
    expect(line.startsWith(words)).toBe(true);
    expect(line.endsWith(why)).toBe(true);
  });

  test("shows a worker as running again once its line lives, it is unpaused, or its next attempt speaks", async () => {
    const { terminal, board } = await openBoard();
    board.begun(swarmWith("a", "b", "c"));
    for (const slug of ["a", "b", "c"]) run(board, slug);
    board.event({ event: "line", worker: "a", status: "stalled", why: "the adapter sent nothing" });
    board.event({ event: "paused", worker: "b", why: "the user paused the worker" });
    end(board, "c", "AGENT_CRASH");
    board.event({ event: "retried", worker: "c", attempt: 2, why: "a crash", waitMs: 1 });

    board.event({ event: "line", worker: "a", status: "live", why: "the adapter sends messages" });
    board.event({ event: "unpaused", worker: "b", why: "asked to" });
    act(board, "c", "again");
    drawn();

    expect(terminal.screen().map((line) => line.slice(0, 15).trim())).toEqual([
      "▸ running    a",
      "▸ running    b",
      "▸ running    c",
      "3 running  0/9",
      "",
    ]);
  });

  test("shows what an earlier owner ended, and workers that are added", async () => {
    const { terminal, board } = await openBoard();
    const containerName = "aimi-012345-3f2b8c-first";
    const startedAt = "2026-01-02T03:00:00.000Z";
    const finishedAt = "2026-01-02T04:02:03.000Z";
    const first = recordWith({ containerName, status: "completed", startedAt, finishedAt });
    const state = { ...swarmWith("second"), containers: [first, ...swarmWith("second").containers] };
    board.begun(state);
    run(board, "second");
    board.begun({ ...state, containers: [...state.containers, ...swarmWith("third").containers] });
    drawn();

    expect(terminal.screen()).toEqual([
      "✓ completed  first   0/0  1:02:03  feat/1",
      "▸ running    second  0/3     0:00  feat/second  US-001",
      "1 waiting",
      "1 running, 1 completed  0/6 stories  0:00",
      "",
    ]);
  });

  test("shows what is prepared until the first worker begins, and why all of it ends early", async () => {
    const { terminal, board } = await openBoard();
    board.begun(swarmWith("a"));
    board.step("Building\u001b[2J an image");
    drawn();
    expect(terminal.screen()).toEqual([
      "◦ preparing  Building an image",
      "1 waiting",
      "1 worker  0/3 stories  0:00",
      "",
    ]);

    run(board, "a");
    board.event({ event: "stopping", why: "worker b failed, and --fail-fast is set" });
    drawn();

    expect(terminal.screen()).toEqual([
      expect.stringMatching(/^▸ running {4}a/),
      "▾ stopping   worker b failed, and --fail-fast is set",
      "1 running  0/3 stories  0:00",
      "",
    ]);
  });

  test("has no glyphs and nothing but ASCII where the locale has no more", async () => {
    const { terminal, board } = await openBoard({ unicode: false });
    board.begun(swarmWith("a", "b"));
    run(board, "a");
    run(board, "b");
    act(board, "a", "schöne “Grüße” – naïve 日本 🎉".repeat(10));
    end(board, "b");
    drawn();

    const [first, second] = terminal.screen();
    expect(first).toMatch(
      /^running {4}a {2}0\/3 {3}0:00 {2}feat\/a {2}US-001 schone "Gru\?e" - naive \?\? \?.*\.\.\.$/,
    );
    expect(second).toMatch(/^completed {2}b {2}0\/3/);
    expect(terminal.screen().join("")).toMatch(/^[ -~]*$/);
  });

  test("lets no worker's text out of its line", async () => {
    const { terminal, board } = await openBoard();
    board.begun(swarmWith("a", "b", "c"));
    for (const slug of ["a", "b", "c"]) run(board, slug);
    act(board, "a", "\u001b[2J\u001b[H\u001b]0;owned\u0007one\r\ntwo\u0085\u009b31m\u202eevil\u0008\u0008");
    act(board, "b", "日本語".repeat(40));
    say(board, "c", "progress-update", {
      ...{ storyId: "US-001", status: "failed", output: "" },
      reason: { code: "\u001b[5A\nX", message: "" },
    });
    drawn();

    expect(terminal.screen()).toEqual([
      "▸ running    a  0/3   0:00  feat/a  US-001 one twoevil",
      expect.stringMatching(/^▸ running {4}b {2}0\/3 {3}0:00 {2}feat\/b {2}US-001 [日本語]{17}…$/),
      "▸ running    c  0/3   0:00  feat/c  US-001 failed,  X",
      "3 running  0/9 stories  0:00",
      "",
    ]);
  });

  test("puts remarks above its lines, whole, and leaves what was there before", async () => {
    const { terminal, board } = await openBoard({ columns: 40 });
    terminal.write("$ swarm start --all\r\n");
    board.begun(swarmWith("a"));
    run(board, "a");
    drawn();
    board.note("Stopping: agents may end their turn. Again to stop now.");
    board.note("once\ntwice");

    const expected = [
      ...[
        "$ swarm start --all",
        "Stopping: agents may end their turn. Aga",
        "in to stop now.",
        "once",
        "twice",
      ],
      ...["▸ running   a 0/3 US-001", "1 running  0/3 stories  0:00", ""],
    ];
    expect(terminal.screen()).toEqual(expected);
    act(board, "a", "on");
    drawn();
    expect(terminal.screen()).toEqual(expected.with(5, "▸ running   a 0/3 US-001 on"));
  });

  test("follows the window, and leaves nothing of what it was before", async () => {
    const { terminal, board } = await openBoard({ columns: 100, rows: 12 });
    terminal.write("$ swarm start --all\r\n");
    board.begun(swarmWith("a", "b", "c"));
    for (const slug of ["a", "b", "c"]) run(board, slug);
    for (const slug of ["a", "b", "c"]) act(board, slug, "a long story ".repeat(10));
    drawn();
    expect(terminal.screen()[1]).toHaveLength(99);

    for (const [columns, rows] of [
      [60, 12],
      [45, 9],
      [120, 30],
      [100, 9],
      [40, 12],
    ] as const) {
      terminal.resize(columns, rows);
      drawn();

      const lines = [...terminal.history(), ...terminal.screen()];
      expect(lines).toEqual([
        "$ swarm start --all",
        ...["a", "b", "c"].map((slug) => expect.stringMatching(`^▸ running +${slug} .*…$`)),
        expect.stringMatching(/^3 running {2}0\/9 stories {2}0:0\d$/),
        "",
      ]);
      expect([columns - 2, columns - 1]).toContain(lines[1]?.length);
    }
  });

  test("takes a remark before it has been drawn for a new window", async () => {
    const { terminal, board } = await openBoard({ columns: 100 });
    terminal.write("$ swarm start --all\r\n");
    board.begun(swarmWith("a"));
    run(board, "a");
    act(board, "a", "a long story ".repeat(10));
    drawn();

    terminal.resize(60, 24);
    board.note("first");
    terminal.resize(40, 24);
    board.note("second");
    drawn();

    expect(terminal.screen()).toEqual([
      ...["$ swarm start --all", "first", "second", "▸ running   a 0/3 US-001 a long story…"],
      ...["1 running  0/3 stories  0:00", ""],
    ]);
  });

  test("is drawn four times a second at most, and only when it looks different", async () => {
    const { terminal, board } = await openBoard();
    board.begun(swarmWith("a"));
    run(board, "a");
    drawn();
    vi.advanceTimersByTime(700);

    const before = terminal.writes;
    for (let at = 0; at < 1_000; at += 5) {
      act(board, "a", `at ${at}`);
      vi.advanceTimersByTime(5);
    }
    expect(terminal.writes - before).toBeGreaterThanOrEqual(3);
    expect(terminal.writes - before).toBeLessThanOrEqual(5);

    vi.advanceTimersByTime(1_000);
    const quiet = terminal.writes;
    for (let at = 0; at < 900; at += 5) act(board, "a", "at 995");
    vi.advanceTimersByTime(900);
    expect(terminal.writes - quiet).toBeLessThanOrEqual(1);
  });

  test("leaves no line, no timer and no listener behind", async () => {
    const signals = () => ["SIGINT", "SIGTERM", "SIGHUP", "exit"].map((name) => process.listenerCount(name));
    const before = signals();
    const { terminal, board } = await openBoard();
    terminal.write("$ swarm start --all\r\n");
    board.begun(swarmWith("a", "b"));
    run(board, "a");
    drawn();
    board.note("a remark");
    act(board, "a", "not yet drawn");
    expect(vi.getTimerCount()).toBe(1);

    await board.close();
    vi.advanceTimersByTime(1_000);
    act(board, "a", "too late");

    expect(terminal.screen()).toEqual(["$ swarm start --all", "a remark", ""]);
    expect(terminal.hasCursor).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    expect(terminal.eventNames()).toEqual([]);
    expect(signals()).toEqual(before);
  });
});

describe("a swarm in a pipe", () => {
  test("is a line for each change, and for what a worker does one in ten seconds", async () => {
    const { terminal, board } = await openBoard({ mode: "plain", rows: 100 });
    board.begun(swarmWith("a", "b"));
    board.step("Building");
    board.event({ event: "started", worker: "a" });
    for (let at = 0; at <= 20; at += 1) {
      act(board, "a", `at ${at}`);
      if (at === 5) act(board, "b", `at ${at}`);
      if (at === 6)
        say(board, "a", "progress-update", { storyId: "US-001", status: "completed", output: "" });
      vi.advanceTimersByTime(1_000);
    }
    board.event({ event: "line", worker: "a", status: "live", why: "the adapter sends messages" });
    board.note("a remark");
    end(board, "a", "AGENT_CRASH");
    await board.close();

    expect(terminal.screen()).toEqual([
      "Building",
      "a  started",
      "a  US-001 at 0",
      "b  US-001 at 5",
      "a  US-001 completed",
      "a  US-001 at 10",
      "a  US-001 at 20",
      "a remark",
      "a  failed, AGENT_CRASH: npm test failed",
      "",
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is a line of JSON for each event and each message where programs read it", async () => {
    const { terminal, board } = await openBoard({ mode: "json", columns: 1_000 });
    board.begun(swarmWith("a"));
    board.step("Building");
    board.event({ event: "started", worker: "a" });
    act(board, "a", "\u001b[2J\u009b\u202eon");
    board.note("a remark");
    await board.close();

    const lines = terminal.screen().filter((line) => line !== "");
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { event: "step", step: "Building" },
      { event: "started", worker: "a" },
      {
        ...{ event: "message", worker: "a", type: "activity" },
        payload: { storyId: "US-001", kind: "text", summary: "\u001b[2J\u009b\u202eon" },
      },
      { event: "note", text: "a remark" },
    ]);
  });

  test("is nothing where nobody wants to hear of it", async () => {
    const { terminal, board } = await openBoard({ mode: "quiet" });
    board.begun(swarmWith("a"));
    board.step("Building");
    run(board, "a");
    board.note("a remark");
    await board.close();

    expect(terminal.writes).toBe(0);
  });
});
