import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test as plain } from "vitest";
import { summaryLines } from "../../../src/cli/render/summary-lines.ts";
import type { SwarmSummary } from "../../../src/contract/summary.ts";
import { findSchemaViolations } from "../../../src/schema/find-violations.ts";
import type { ContainerRecord, SwarmState } from "../../../src/state/rules/swarm-state.ts";
import type { StoryFacts, WorkerFacts } from "../../../src/swarm/report/rules/story-facts.ts";
import { summaryHtml } from "../../../src/swarm/report/rules/summary-html.ts";
import { summaryMarkdown } from "../../../src/swarm/report/rules/summary-markdown.ts";
import { type SummarizeDeps, summarizeSwarm } from "../../../src/swarm/report/summarize-swarm.ts";
import { writeSwarmReport } from "../../../src/swarm/report/write-report.ts";
import { escapeMarkdown, formatCodeBlock, formatInlineCode } from "../../../src/text/escape-markdown.ts";
import { quoteForShell } from "../../../src/text/quote-for-shell.ts";
import { hasControlCharacters } from "../../../src/text/sanitize-text.ts";
import { test } from "../../fakes/folders.ts";
import { now, recordWith, swarmOf } from "../../fakes/state/records.ts";
import { storyWith, taskFileWith } from "../../fakes/tasks/task-files.ts";

const [base, tip] = ["b".repeat(40), "c".repeat(40)];
const { swarmId } = swarmOf(0);
const collected = { commit: tip, ref: `refs/aimi/${swarmId}/login`, at: now.toISOString() };
const crash = { code: "AGENT_CRASH", message: "it crashed" };
const told: StoryFacts = {
  ...{ attempt: 1, status: "completed", output: "done and checked", commit: tip, reason: null },
  checks: [{ command: "npm test", exitCode: 0, durationMs: 1_500, output: "41 passing\n42 passing\n" }],
  ...{ failedCommit: null, workMs: 60_000, usage: null },
};
const usage = {
  inputTokens: 1_000,
  outputTokens: 200,
  cacheReadTokens: 30,
  cacheWriteTokens: 4,
  costUsd: 1.25,
};
const storyRecord = { id: "US-001", status: "completed", commit: tip, attempt: 1, reason: null } as const;

/** A worker that came to its end on its branch, changed at will. */
function login(change: Partial<ContainerRecord> = {}): ContainerRecord {
  return recordWith({
    ...{ containerName: "aimi-012345-3f2b8c-login", branchName: "feat/login", status: "completed" },
    ...{ baseCommit: base, collected, stories: [storyRecord] },
    branch: { ref: "refs/heads/feat/login", old: null, new: tip, done: true },
    ...change,
  });
}

const failed: Partial<ContainerRecord> = { status: "failed", reason: crash, branch: null };

function depsWith(change: Partial<SummarizeDeps> = {}, story: Partial<StoryFacts> = {}): SummarizeDeps {
  const facts: WorkerFacts = {
    ...{ workMs: 60_000, usage },
    storyById: new Map([["US-001", { ...told, ...story }]]),
  };
  return {
    readFacts: async () => facts,
    readProof: async () => null,
    readTask: async () =>
      taskFileWith({ metadata: { title: "feat: log in" }, story: { title: "Add a form" } }),
    work: {
      hasCommit: async () => true,
      sensitivePaths: async () => ({
        paths: [{ path: ".github/workflows/a.yml", why: "workflow" }],
        isCut: false,
        deleted: { total: 2, paths: ["old/a.txt", "old/b.txt"] },
      }),
      changes: async () => ({
        commits: [{ id: tip, author: "An agent", subject: "Add a form" }],
        files: [{ path: "a.txt", added: 3, deleted: 1 }],
        totals: { files: 1, added: 3, deleted: 1 },
        isCut: false,
      }),
    },
    isOwned: async () => false,
    readMerge: async () => null,
    clock: () => now,
    ...change,
  };
}

async function summaryOf(
  containers: readonly ContainerRecord[],
  deps: SummarizeDeps = depsWith(),
): Promise<SwarmSummary> {
  const state: SwarmState = { ...swarmOf(0), containers };
  const summary = await summarizeSwarm(deps, state);
  expect(await findSchemaViolations("summary", summary)).toEqual([]);
  return summary;
}

describe("a summary", () => {
  plain("says of a worker what was done, with checks, commits, effort and what to look at", async () => {
    const summary = await summaryOf([login()]);

    expect(summary.totals).toEqual({
      workers: { total: 1, completed: 1, failed: 0, stopped: 0, running: 0, pending: 0 },
      stories: { total: 1, completed: 1, failed: 0 },
      ...{ workMs: 60_000, usage },
    });
    expect(summary.workers).toMatchObject([
      {
        ...{ worker: "login", title: "feat: log in", status: "completed", reason: null, base, usage },
        work: { commit: tip, branch: "feat/login", wanted: "feat/login" },
        changes: { commits: [{ subject: "Add a form" }], files: 1, added: 3, deleted: 1 },
        sensitive: { paths: [{ path: ".github/workflows/a.yml", why: "workflow" }] },
        stories: [
          { id: "US-001", title: "Add a form", output: "done and checked", commit: tip, checks: told.checks },
        ],
      },
    ]);
    expect(summaryLines(summary)).toEqual([
      `swarm ${swarmId}, started at 2026-01-02T03:04:05.000Z`,
      "1 of 1 worker completed; 1 of 1 stories; 1 min 0 s of work; 1034 tokens in, 200 out; $1.25",
      "",
      "completed  login",
      "  feat: log in",
      "  feat/login cccccccccc, 1 commit, 1 file, +3 -1, 1 min 0 s, 1034 tokens in, 200 out, $1.25",
      "  completed  US-001 Add a form (cccccccccc, 1 min 0 s): done and checked",
      "    check npm test: exit 0, 1.5 s",
      "    | 42 passing",
      "  commit cccccccccc Add a form (An agent)",
      "  review .github/workflows/a.yml (workflow)",
      "  the result deletes 2 files: old/a.txt, old/b.txt",
      "  next: git log --oneline bbbbbbbbbbbb..feat/login",
      "  next: swarm diff login",
    ]);
    expect(summary.next).toEqual(["git log --oneline bbbbbbbbbbbb..feat/login", "swarm diff login"]);
  });

  plain("says whose filter of system calls its sandboxes had, where that was written down", async () => {
    const engine = { name: "test", endpoint: "unix:///engine", id: "E", isolation: "shared-kernel" } as const;
    const words =
      "the engine's own filter: the engine's administrator chose the filter /etc/<b>x</b>\u001b[31m";

    const [told, untold] = await Promise.all(
      [{ ...engine, systemCalls: words }, engine].map((one) =>
        summarizeSwarm(depsWith(), { ...swarmOf(0), engine: one }),
      ),
    );

    if (!told || !untold) throw new Error("two were asked for");
    expect(await findSchemaViolations("summary", told)).toEqual([]);
    expect(told.systemCalls).toContain("the engine's administrator chose the filter /etc/<b>x</b>");
    expect(hasControlCharacters(String(told.systemCalls))).toBe(false);
    expect(summaryLines(told)[2]).toContain("system calls: the engine's own filter");
    expect(summaryMarkdown(told)).toContain("System calls: ");
    expect(summaryHtml(told)).toContain("system calls: ");
    for (const page of [summaryMarkdown(told), summaryHtml(told)]) expect(page).not.toContain("<b>");
    expect(untold.systemCalls).toBeNull();
    expect(summaryHtml(untold)).not.toContain("system calls");
  });

  plain(
    "of a failed worker says why, shows the end of its checks, and how to take or mend what there is",
    async () => {
      const output = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`).join("\n");
      const checks = [{ command: "npm test", exitCode: 1, durationMs: 900, output }];
      const reason = { code: "VERIFY_FAILED", message: "`npm test` failed: exit 1" };
      const stories = [{ ...storyRecord, status: "failed" as const, commit: null, reason }];

      const summary = await summaryOf(
        [login({ ...failed, stories })],
        depsWith(
          {},
          { status: "failed", output: reason.message, checks, failedCommit: tip, commit: null, attempt: 2 },
        ),
      );

      const [worker] = summary.workers;
      const unfinished = `refs/aimi/failed/${swarmId}/login/2-US-001`;
      expect(worker?.stories).toMatchObject([{ reason, unfinished }]);
      expect(worker?.next).toEqual([
        ...["swarm logs login", "swarm retry login"],
        ...[`git log --oneline bbbbbbbbbbbb..${collected.ref}`, "swarm diff login"],
        ...[`git branch swarm-login ${collected.ref}`, `git diff cccccccccccc ${unfinished}`],
      ]);
      expect(summary.next).toEqual(["swarm logs login", "swarm retry login"]);
      const lines = summaryLines(summary);
      expect(lines).toContain("  AGENT_CRASH: it crashed");
      expect(lines.filter((line) => line.startsWith("    | "))).toEqual(
        output
          .split("\n")
          .slice(-10)
          .map((line) => `    | ${line}`),
      );
    },
  );

  plain("of an empty swarm is a summary, too", async () => {
    const summary = await summaryOf([]);

    expect(summary.next).toEqual(["swarm plan"]);
    expect(summaryLines(summary)[1]).toBe("0 of 0 workers completed; 0 of 0 stories; 0 ms of work");
    expect(summaryMarkdown(summary)).toContain("This swarm has no workers.");
  });

  plain.for<[string, Partial<ContainerRecord>, boolean, string[]]>([
    ["that is not finished", { status: "stopped", collected: null }, false, ["swarm resume"]],
    ["whose owner was killed", { status: "running", collected: null }, false, ["swarm resume"]],
    ["that is carried out now", { status: "running", collected: null }, true, ["swarm events -f"]],
    ["where nothing had to change", { collected: null, branch: null }, false, []],
    [
      "that was skipped, whose blamed worker is to be tried again",
      { ...failed, collected: null, reason: { code: "DEPENDENCY_FAILED", message: "x" } },
      false,
      [],
    ],
  ])("of a swarm %s: next is what can be done", async ([, change, isOwned, next]) => {
    const summary = await summaryOf([login(change)], depsWith({ isOwned: async () => isOwned }));

    expect(summary.next).toEqual(next);
  });

  plain("where journals, task files and commits are gone it says what the state knows", async () => {
    const { SwarmError } = await import("../../../src/errors/errors.ts");
    const gone = async () => {
      throw new SwarmError("GIT_FAILED", { command: "log", reason: "bad object" });
    };
    const startedAt = "2026-01-02T03:00:05.000Z";

    const summary = await summaryOf(
      [login({ startedAt, usage })],
      depsWith({
        readFacts: async () => ({ workMs: null, usage: null, storyById: new Map() }),
        readTask: async () => null,
        work: { hasCommit: async () => false, changes: gone, sensitivePaths: gone },
      }),
    );

    expect(summary.workers).toMatchObject([
      {
        ...{
          title: null,
          changes: null,
          sensitive: { paths: [], isCut: false, deleted: { total: 0, paths: [] } },
          workMs: 240_000,
          usage,
        },
        stories: [{ id: "US-001", title: null, status: "completed", commit: tip, output: null, checks: [] }],
      },
    ]);
    expect(summaryLines(summary)).toContain("  completed  US-001 (cccccccccc)");
  });

  plain("of a story that waits for another attempt does not tell what the last one said", async () => {
    const stories = [{ ...storyRecord, status: "pending" as const, commit: null, attempt: 2 }];

    const { workers } = await summaryOf(
      [login({ status: "pending", branch: null, stories })],
      depsWith({}, { status: "failed", output: "no", reason: crash }),
    );

    expect(workers[0]?.stories).toMatchObject([{ output: null, reason: null, checks: [], workMs: 60_000 }]);
  });

  plain("says where work lies that did not get its branch, and how to take it", async () => {
    const aside = { ref: "refs/heads/feat/login-swarm-3f2b8c", old: null, new: tip, done: true };
    const summary = await summaryOf([login({ branch: aside }), login({ branch: null })]);

    expect(summaryLines(summary).join("\n")).toContain(
      "  feat/login-swarm-3f2b8c cccccccccc instead of feat/login, 1 commit",
    );
    expect(summary.workers[1]?.next).toContain(`git branch swarm-login ${collected.ref}`);
  });

  plain(
    "a branch whose name means something to a shell stands in quotes, and one that is none is not named",
    async () => {
      const named = (ref: string) => login({ branch: { ref, old: null, new: tip, done: true } });

      const { workers } = await summaryOf([named("refs/heads/feat/$(id)'x"), named("refs/heads/-x\n;id")]);

      expect(workers[0]?.next[0]).toBe(`git log --oneline 'bbbbbbbbbbbb..feat/$(id)'\\''x'`);
      expect(workers[1]?.next[0]).toBe(`git log --oneline bbbbbbbbbbbb..${collected.ref}`);
      expect(quoteForShell("a b")).toBe("'a b'");
    },
  );
});

describe("hostile words in a summary", () => {
  const hostile = [
    "```\n# owned\n```` \u001b[2J\u0007",
    "~~~\n<script>alert(1)</script>",
    "](javascript:alert(1)) | a | b |\n\n---\n1. x",
    "\u202eevil\r\n# heading\u001b]8;;http://evil\u0007link",
    "`````",
  ];

  async function hostileSummary(text: string): Promise<SwarmSummary> {
    const reason = { code: "AGENT_CRASH", message: text };
    const stories = [{ ...storyRecord, status: "failed" as const, reason }];
    const checks = [{ command: text, exitCode: 1, durationMs: 1, output: text }];
    const base = depsWith({}, { status: "failed", output: `${text} said`, reason, checks });
    return summaryOf([login({ ...failed, reason, stories, branchName: text })], {
      ...base,
      readMerge: async () => ({
        ...{ swarmId, branch: text, exists: true, begin: tip, tip, moved: true, forecast: [] },
        check: { command: text, before: null },
        workers: [
          {
            ...{ worker: "login", outcome: "set aside" as const, commit: tip, mergedAs: null, check: null },
            ...{ reason: { code: "MERGE_CONFLICT" as const, message: text }, files: [text], with: [] },
          },
        ],
      }),
      readTask: async () =>
        taskFileWith({ metadata: { title: text }, stories: [storyWith({ title: text })] }),
      work: {
        hasCommit: async () => false,
        sensitivePaths: async () => ({
          paths: [{ path: text, why: "workflow" }],
          isCut: true,
          deleted: { total: 9, paths: [text] },
        }),
        changes: async () => ({
          commits: [{ id: tip, author: text, subject: text }],
          ...{ files: [], totals: { files: 0, added: 0, deleted: 0 }, isCut: true },
        }),
      },
    });
  }

  plain.for(hostile)("on a terminal are words: %j", async (text) => {
    for (const line of summaryLines(await hostileSummary(text))) {
      expect(line).not.toMatch(/\n/);
      expect(hasControlCharacters(line)).toBe(false);
    }
  });

  plain.for(hostile)("in Markdown break out of nothing: %j", async (text) => {
    const page = summaryMarkdown(await hostileSummary(text));

    const outside = outsideOfFences(page);
    expect(outside.filter((line) => /^#{1,6} /.test(line)).map((line) => line.split(" ")[0])).toEqual(
      // The swarm, what was merged, the worker, its story, commits, paths, deleted files and what is next.
      ["#", "##", "##", "###", "###", "###", "###", "##"],
    );
    for (const line of outside) {
      expect(line).not.toMatch(/^\s*(?:~~~|---|===|\d+[.)] )/);
      const withoutCode = line.replace(/(`+)(?!`).*?[^`]\1(?!`)/g, "");
      expect(withoutCode).not.toMatch(/(?<!\\)[<>[\]]/);
    }
    expect(page.replace(/[\n\t]/g, "")).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
    // A row of the table has its six cells, whatever is in them.
    const rows = outside.filter((line) => line.startsWith("| "));
    expect(rows.map((row) => row.split(/(?<!\\)\|/).length)).toEqual(
      // The merge's table has three cells.
      rows.map((_, at) => (at < 2 ? 8 : 5)),
    );
  });

  plain.for([
    ...hostile,
    '"><img src=x onerror=alert(1)>',
    "</pre></style><script>1</script>",
    "' onclick='x",
  ])("in HTML are words: %j", async (text) => {
    const page = summaryHtml(await hostileSummary(text));

    const tags = [...page.matchAll(/<(\/?[a-z!][a-z0-9]*)/gi)].map(([, name = ""]) => name.replace("/", ""));
    const ours =
      "!doctype html head meta title style body header h1 p code time main section h2 h3 ul li a pre div svg line rect span details summary b dl dt dd article".split(
        " ",
      );
    expect(tags.filter((name) => !ours.includes(name))).toEqual([]);
    // An attribute of ours has only what we put there.
    expect(page).not.toMatch(/<[^>]*\son\w+=/);
    expect(page.replace(/[\n\t]/g, "")).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
  });

  /** The lines that Markdown reads as Markdown; it must end outside of every fence. */
  function outsideOfFences(page: string): string[] {
    let fence: string | null = null;
    const outside: string[] = [];
    for (const line of page.split("\n")) {
      const [, found = ""] = /^(`{3,})[a-z]*$/.exec(line) ?? [];
      if (fence === null && found !== "") fence = found;
      else if (fence !== null && /^`+$/.test(line) && line.length >= fence.length) fence = null;
      else if (fence === null) outside.push(line);
    }
    expect(fence).toBeNull();
    return outside;
  }

  plain("a fence is longer than any in it, and so is the mark of code", () => {
    expect(formatCodeBlock("a\n`````\nb")).toEqual(["``````text", "a", "`````", "b", "``````"]);
    expect(formatInlineCode("a``b`")).toBe("``` a``b` ```");
    expect(formatInlineCode("npm test")).toBe("`npm test`");
    expect(escapeMarkdown("- see http://x and www.y *z*")).toBe("\\- see http\\://x and www\\.y \\*z\\*");
  });
});

describe("the report", () => {
  test("is a page below .aimi/reports, in the place of the last one", async ({ repository }) => {
    await writeSwarmReport(repository, await summaryOf([]));
    const path = await writeSwarmReport(repository, await summaryOf([login()]));

    expect(path).toMatch(new RegExp(`^\\.aimi/reports/\\d{4}-\\d\\d-\\d\\d-${swarmId.slice(0, 6)}\\.md$`));
    const page = readFileSync(join(repository, path), "utf8");
    expect(readFileSync(join(repository, ".aimi/reports/latest.md"), "utf8")).toBe(page);
    for (const html of [path.replace(/md$/, "html"), ".aimi/reports/latest.html"])
      expect(readFileSync(join(repository, html), "utf8")).toContain("41 passing\n42 passing</pre>");
    expect(page).toContain("## login: feat: log in\n");
    expect(page).toContain("Check `npm test`: exit 0, 1.5 s\n\n```text\n41 passing\n42 passing\n```\n");
    expect(page).toContain("```sh\ngit log --oneline bbbbbbbbbbbb..feat/login\nswarm diff login\n```\n");
  });

  test("is not written through a link that leads out of the repository", async ({ repository, folder }) => {
    mkdirSync(join(repository, ".aimi"));
    mkdirSync(join(folder, "outside"));
    symlinkSync(join(folder, "outside"), join(repository, ".aimi/reports"));

    await expect(writeSwarmReport(repository, await summaryOf([]))).rejects.toMatchObject({
      code: "FILE_UNWRITABLE",
    });
    expect(readdirSync(join(folder, "outside"))).toEqual([]);
  });
});
