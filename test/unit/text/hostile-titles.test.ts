import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  storyCommitMessage,
  unfinishedWorkCommitMessage,
} from "../../../adapter/workspace/commit-messages.ts";
import { describeEventFacts } from "../../../src/cli/render/describe-event.ts";
import { statusLines } from "../../../src/cli/render/status-lines.ts";
import { summaryLines } from "../../../src/cli/render/summary-lines.ts";
import { toJson } from "../../../src/cli/render/to-json.ts";
import { eventLine } from "../../../src/events/rules/event-line.ts";
import { findBranchProblem } from "../../../src/git/rules/branch-name.ts";
import { createNotice } from "../../../src/swarm/report/rules/notice.ts";
import { summaryHtml } from "../../../src/swarm/report/rules/summary-html.ts";
import { summaryMarkdown } from "../../../src/swarm/report/rules/summary-markdown.ts";
import { summarizeSwarm } from "../../../src/swarm/report/summarize-swarm.ts";
import { hasControlCharacters, sanitizeLines, sanitizeText } from "../../../src/text/sanitize-text.ts";
import {
  makePreparation,
  newContainer,
  type Preparation,
  preparationPaths,
  workspaceOf,
} from "../../fakes/adapter/preparation.ts";
import { git } from "../../fakes/git/repository.ts";
import { hiddenIn, hostileTitles } from "../../fakes/hostile-titles.ts";
import { now, recordWith, swarmOf } from "../../fakes/state/records.ts";
import { storyWith, taskFileWith } from "../../fakes/tasks/task-files.ts";

test.each(hostileTitles)("%s is taken out of what is shown", (_what, title, shown) => {
  expect(hiddenIn(title.replaceAll("\n", "\u2028"))).not.toEqual([]);
  expect(sanitizeText(title).replace(/ +/g, " ").trim()).toBe(shown);
  expect(hiddenIn(sanitizeLines(title))).toEqual([]);
  expect(hasControlCharacters(sanitizeText(title))).toBe(false);
});

test.each(["ünïcode — 日本 🎉", "👨‍👩‍👧 family", "می‌خواهم", "क्‍ष", "a  b", "❤️‍🔥"])(
  "%s stays as it is",
  (text) => {
    expect(sanitizeText(text)).toBe(text);
    expect(hasControlCharacters(text)).toBe(false);
  },
);

test("a long run of beginnings of sequences is no work", () => {
  const started = performance.now();
  for (const begin of ["\u009d", "\u001bP", "\u001b]", "\u009b", "\u200d", "\u001b[0"])
    expect(hiddenIn(sanitizeText(begin.repeat(500_000)))).toEqual([]);
  // Looked through again from each of them it would take hours.
  expect(performance.now() - started).toBeLessThan(60_000);
});

describe("a hostile title in summary, reports, notices, status and events", () => {
  test.each(hostileTitles)("%s", async (_what, title) => {
    const reason = { code: "AGENT_CRASH", message: title };
    const record = recordWith({
      ...{
        containerName: "aimi-012345-3f2b8c-login",
        branchName: `feat/${title}`,
        taskFilePath: `${title}.json`,
      },
      ...{ status: "failed" as const, reason, collected: null },
      stories: [{ id: "US-001", status: "failed" as const, commit: null, attempt: 1, reason }],
    });
    const taskFile = taskFileWith({ metadata: { title }, story: { title } });
    const checks = [{ command: title, exitCode: 1, durationMs: 1, output: title }];
    const state = { ...swarmOf(0), containers: [record] };
    const summary = await summarizeSwarm(
      {
        readFacts: async () => ({
          ...{ workMs: 1, usage: null },
          storyById: new Map([
            [
              "US-001",
              {
                ...{ attempt: 1, status: "failed" as const, output: title, commit: null, reason, checks },
                ...{ failedCommit: null, workMs: 1, usage: null },
              },
            ],
          ]),
        }),
        ...{ readProof: async () => null, readTask: async () => taskFile, readMerge: async () => null },
        work: {
          hasCommit: async () => false,
          sensitivePaths: async () => ({ paths: [], isCut: false, deleted: { total: 0, paths: [] } }),
          changes: async () => ({
            commits: [],
            files: [],
            totals: { files: 0, added: 0, deleted: 0 },
            isCut: false,
          }),
        },
        ...{ isOwned: async () => false, clock: () => now },
      },
      state,
    );
    const event = JSON.parse(
      eventLine({ event: "failed", worker: title, why: title }, { at: "", swarmId: title }),
    );
    const status = statusLines(
      { swarm: state, owner: null, corrections: [], orphans: [title], isReconciled: true } as never,
      { now } as never,
    );

    const shown = {
      lines: summaryLines(summary).join("\n"),
      markdown: summaryMarkdown(summary),
      html: summaryHtml(summary),
      notice: JSON.stringify(createNotice(summary, { exit: 5 })),
      needed: JSON.stringify(createNotice(summary, { worker: "login", why: sanitizeText(title) })),
      status: status.join("\n"),
      event: describeEventFacts(event),
      json: toJson({ title, record }),
    };
    expect(JSON.parse(shown.json).record.reason.message).toBe(title);
    for (const [where, text] of Object.entries(shown)) {
      expect(hiddenIn(text), where).toEqual([]);
      if (where === "status" || where === "event") expect(text, where).not.toMatch(/^Swarm-Story/m);
    }
  });
});

test.each(hostileTitles)("%s is in no name of a branch", (_what, title) => {
  expect(findBranchProblem(`feat/${title.replaceAll(" ", "-")}`, [])).toMatch(
    /^(is not a name|contains invisible characters)/,
  );
});

// It becomes another user, which only root may.
describe.skipIf(process.getuid?.() !== 0)("a hostile title in a commit", () => {
  let folder: string;
  let preparation: Preparation;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "swarm-titles-"));
    preparation = makePreparation(folder, { isBegun: false });
    newContainer(folder, preparation);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** As people look at it: `git log`, with its trailers as programs read them. */
  function logOf(commit: string) {
    const { workspace } = preparationPaths(folder);
    const safe = ["-c", `safe.directory=${workspace}`];
    const all = git(workspace, ...safe, "log", "-1", "--format=%an%n%ae%n%B", commit);
    const stories = git(
      workspace,
      ...safe,
      "log",
      "-1",
      "--format=%(trailers:key=Swarm-Story,valueonly)",
      commit,
    );
    const keys = git(workspace, ...safe, "log", "-1", "--format=%(trailers:only,unfold)", commit);
    return {
      ...{ all, subject: git(workspace, ...safe, "log", "-1", "--format=%s", commit).trimEnd() },
      ...{
        stories: stories.trim().split("\n"),
        keys: keys
          .trim()
          .split("\n")
          .map((line) => line.split(":")[0]),
      },
    };
  }

  test.each(hostileTitles)("%s", async (_what, title, shown) => {
    const workspace = workspaceOf(folder, preparation);
    const made = async (message: string) =>
      logOf(
        await workspace.makeCommit({
          ...{ tree: await workspace.treeOf(preparation.base), parent: preparation.base, message },
          author: { name: `T ${title}`, email: `t@example.invalid${title}` },
        }),
      );
    const story = storyWith({ title });

    const done = await made(storyCommitMessage(story, { swarmId: title, task: title }));
    expect(hiddenIn(done.all)).toEqual([]);
    expect(done).toMatchObject({
      subject: shown,
      stories: ["US-001"],
      keys: ["Swarm-Id", "Swarm-Task", "Swarm-Story"],
    });

    const open = await made(unfinishedWorkCommitMessage(story, "VERIFY_FAILED"));
    expect(hiddenIn(open.all)).toEqual([]);
    expect(open).toMatchObject({ subject: `Unfinished: US-001 ${shown}`, stories: [""] });
  });

  test("that is nothing else leaves the story's id, and an author who is nothing else is ours", async () => {
    const workspace = workspaceOf(folder, preparation);
    const title = "\u200b\u001b[0m\u0000\n";
    const message = storyCommitMessage(storyWith({ title }), { swarmId: "s", task: title });
    const tree = await workspace.treeOf(preparation.base);

    for (const name of [title, " <> ", ".", ""]) {
      const author = { name, email: name };
      const { all } = logOf(await workspace.makeCommit({ tree, parent: preparation.base, message, author }));
      expect(all).toBe(
        "swarm\nswarm@localhost\nUS-001\n\nSwarm-Id: s\nSwarm-Task: -\nSwarm-Story: US-001\n\n",
      );
    }
  });

  test("control: as it is, it colours the log, adds a trailer, or ends git", () => {
    const { workspace } = preparationPaths(folder);
    const raw = (title: string) =>
      execFileSync(
        "git",
        ["-c", `safe.directory=${workspace}`, "commit-tree", `${preparation.base}^{tree}`],
        {
          ...{ cwd: workspace, encoding: "utf8", stdio: "pipe" },
          input: `Add\n\nSwarm-Task: ${title}\nSwarm-Story: US-001\n`,
          env: {
            PATH: process.env["PATH"],
            GIT_AUTHOR_NAME: "T",
            GIT_AUTHOR_EMAIL: "t",
            GIT_COMMITTER_NAME: "T",
            GIT_COMMITTER_EMAIL: "t",
          },
        },
      ).trim();

    expect(logOf(raw("\u001b[31mred")).all).toContain("\u001b[31m");
    expect(logOf(raw("a\nSwarm-Story: US-999")).stories).toEqual(["US-999", "US-001"]);
    expect(() => raw("a\u0000")).toThrow(/NUL byte/);
  });
});
