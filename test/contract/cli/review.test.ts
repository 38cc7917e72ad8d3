import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, test as plain } from "vitest";
import { eventLog } from "../../../src/events/event-log.ts";
import { findSchemaViolations } from "../../../src/schema/find-violations.ts";
import type { ContainerRecord, SwarmState } from "../../../src/state/rules/swarm-state.ts";
import { type Finished, swarm as run, swarmProgram } from "../../fakes/cli/swarm-command.ts";
import { test as base, writeTask } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";
import { journalLines } from "../../fakes/protocol/journal-lines.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

interface Place {
  readonly repository: string;
  readonly env: Record<string, string>;
  readonly swarmId: string;
  readonly base: string;
  readonly tip: string;
  swarm(...words: string[]): Promise<Finished>;
  /** Changes the record of the one worker, as its owner would. */
  record(change: Partial<ContainerRecord>): void;
}

/** A repository with a swarm of one worker, `login`, that has brought in a commit. */
const test = base.extend<{ place: Place }>({
  place: async ({ repository, folder }, use) => {
    const env = {
      HOME: folder,
      SWARM_STATE_DIR: join(folder, "state"),
      DOCKER_HOST: `unix://${folder}/none.sock`,
    };
    const swarm = (...words: string[]): Promise<Finished> => run({ folder: repository, env }, ...words);
    writeTask(
      repository,
      "2026-01-02-login-tasks.json",
      taskFileWith({
        metadata: { title: "feat: log in", branchName: "feat/login" },
        story: { title: "Add a form" },
      }),
    );
    await swarm("state", "init");
    const file = join(repository, ".aimi/swarm-state.json");
    await swarm("state", "add", "-", "login", ".aimi/tasks/2026-01-02-login-tasks.json", "feat/login");
    const { swarmId } = JSON.parse(readFileSync(file, "utf8")) as SwarmState;

    const begin = git(repository, "rev-parse", "HEAD").trim();
    write(repository, "a.txt", "\u001b[2Jone\ntwo\n");
    write(repository, ".gitattributes", "*.txt diff=evil\n");
    git(repository, "add", "a.txt", ".gitattributes");
    git(
      repository,
      "-c",
      "user.name=An agent",
      "-c",
      "user.email=a@example.invalid",
      "commit",
      "-qm",
      "Add a form",
    );
    const tip = git(repository, "rev-parse", "HEAD").trim();
    git(repository, "reset", "--quiet", "--hard", begin);
    const ref = `refs/aimi/${swarmId}/login`;
    git(repository, "update-ref", ref, tip);
    git(repository, "branch", "feat/login", tip);

    const record = (change: Partial<ContainerRecord>): void => {
      const state = JSON.parse(readFileSync(file, "utf8")) as SwarmState;
      const containers = state.containers.map((known) => ({ ...known, ...change }));
      writeFileSync(file, JSON.stringify({ ...state, containers }));
    };
    record({
      ...{
        status: "completed",
        baseCommit: begin,
        collected: { commit: tip, ref, at: "2026-01-02T03:04:05.000Z" },
      },
      branch: { ref: "refs/heads/feat/login", old: null, new: tip, done: true },
      stories: [{ id: "US-001", status: "completed", commit: tip, attempt: 1, reason: null }],
    });
    const checks = [{ command: "npm test", exitCode: 0, durationMs: 1_500, output: "42 passing\n" }];
    write(
      repository,
      `.aimi/swarms/${swarmId}/login/journal-1.ndjson`,
      journalLines(1, [
        ["progress-update", { storyId: "US-001", status: "in_progress", output: "begun" }],
        [
          "progress-update",
          { storyId: "US-001", status: "completed", output: "done and checked", commit: tip, checks },
        ],
      ]),
    );
    await use({ repository, env, swarmId, base: begin, tip, swarm, record });
  },
});

/** As a person at a terminal of 100 columns sees it. */
function onTerminal({ repository, env }: Place, words: string): string {
  const command = `stty cols 100; ${swarmProgram} ${words}`;
  const { stdout } = spawnSync("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
    cwd: repository,
    encoding: "utf8",
    env: {
      ...{ ...process.env, ...env, TERM: "xterm", PAGER: "false", GIT_PAGER: "false" },
      ...{ CI: undefined, NO_COLOR: undefined, FORCE_COLOR: undefined },
    } as NodeJS.ProcessEnv,
  });
  return stdout;
}

describe("swarm summary", () => {
  test("is lines for people, a document for programs and a page for reports", async ({ place }) => {
    const [lines, json, markdown] = await Promise.all([
      place.swarm("summary"),
      place.swarm("summary", "--json"),
      place.swarm("summary", "--markdown"),
    ]);

    const look = `git log --oneline ${place.base.slice(0, 12)}..feat/login`;
    expect(lines).toMatchObject({ exit: 0, stderr: `next: \`${look}\`\nnext: \`swarm diff login\`\n` });
    expect(lines.stdout).toContain("  completed  US-001 Add a form");
    expect(lines.stdout).toContain("    check npm test: exit 0, 1.5 s\n    | 42 passing\n");
    expect(json).toMatchObject({ exit: 0, stderr: "" });
    const document = JSON.parse(json.stdout);
    expect(await findSchemaViolations("summary", document)).toEqual([]);
    expect(document.workers).toMatchObject([
      {
        worker: "login",
        title: "feat: log in",
        changes: { files: 2 },
        sensitive: { paths: [{ path: ".gitattributes" }] },
      },
    ]);
    const html = await place.swarm("summary", "--html");
    expect(html.stdout).toMatch(/^<!doctype html>[\s\S]*<details id="login"[\s\S]*<\/html>\n$/);
    expect((await place.swarm("summary", "--html", "--json")).exit).toBe(2);
    expect(markdown.stdout).toMatch(/^# Swarm [\s\S]*\n## login: feat: log in\n[\s\S]*\n```sh\ngit log/);
    // The command that is named does what it says.
    expect(git(place.repository, ...look.split(" ").slice(1))).toMatch(/^[0-9a-f]+ Add a form\n$/);
  });

  test("needs a swarm, and one form", async ({ place }) => {
    expect(await place.swarm("summary", "--markdown", "--json")).toMatchObject({ exit: 2 });
    rmSync(join(place.repository, ".aimi/swarm-state.json"));
    rmSync(join(place.repository, ".git/aimi/swarm-state.json"));
    expect(await place.swarm("summary")).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("error STATE_MISSING"),
    });
  });
});

describe("swarm diff", () => {
  test("gives what was changed to programs as it is, and nothing that a repository names is started for it", async ({
    place,
    folder,
  }) => {
    const { repository } = place;
    const plainDiff = git(
      repository,
      "-c",
      "diff.renames=true",
      "diff",
      "--no-ext-diff",
      place.base,
      place.tip,
    );
    for (const name of ["diff.external", "diff.evil.command", "diff.evil.textconv", "core.pager"])
      git(repository, "config", name, `touch ${folder}/started; true`);
    write(repository, ".gitattributes", "*.txt diff=evil\n");

    const { exit, stdout, stderr } = await place.swarm("diff", "login");

    expect({ exit, stderr }).toEqual({ exit: 0, stderr: "" });
    expect(stdout).toBe(plainDiff);
    expect(stdout).toContain("+\u001b[2Jone\n+two\n");
    expect((await place.swarm("diff", "log", "--stat")).stdout).toMatch(
      / a\.txt +\| 2 \+\+\n 2 files changed, 3 insertions/,
    );
    expect(existsSync(join(folder, "started"))).toBe(false);
    // With the control that would have been.
    spawnSync("git", ["diff", place.base, place.tip], { cwd: repository });
    expect(existsSync(join(folder, "started"))).toBe(true);
  });

  test("shows it on a terminal in colours, without a pager and without its escape sequences", ({ place }) => {
    const shown = onTerminal(place, "diff login");

    expect(shown).toContain("\u001b[32m+one\u001b[39m");
    expect(shown).toContain("\u001b[36m@@ -0,0 +1,2 @@\u001b[39m");
    expect(shown).not.toContain("\u001b[2J");
  });

  test("is a document with what deserves a look", async ({ place }) => {
    const document = JSON.parse((await place.swarm("diff", "login", "--json")).stdout);

    expect(await findSchemaViolations("work-diff", document)).toEqual([]);
    expect(document).toMatchObject({
      ...{ worker: "login", base: place.base, commit: place.tip },
      changes: { commits: [{ author: "An agent", subject: "Add a form" }], totals: { files: 2, added: 3 } },
      sensitive: { paths: [{ path: ".gitattributes", why: "git-settings" }] },
    });
  });

  test("says where nothing was brought in yet, and who is not known", async ({ place }) => {
    place.record({ collected: null });

    expect(await place.swarm("diff", "login")).toEqual({
      ...{ exit: 0, stdout: "" },
      stderr: "No commits of login were imported into this repository yet.\n",
    });
    expect(
      await findSchemaViolations(
        "work-diff",
        JSON.parse((await place.swarm("diff", "login", "--json")).stdout),
      ),
    ).toEqual([]);
    expect(await place.swarm("diff", "nobody")).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("error WORKER_UNKNOWN"),
    });
  });
});

describe("swarm events", () => {
  const at = "2026-01-02T03:04:05.678Z";

  async function addEvents({ repository, swarmId }: Place): Promise<void> {
    const options = { folder: join(repository, ".aimi"), clock: () => new Date(at) };
    {
      await using earlier = eventLog({ ...options, swarmId: "11111111-5a4d-4e6f-8a9b-0c1d2e3f4a5b" });
      earlier.add({ event: "started", worker: "old" });
    }
    await using log = eventLog({ ...options, swarmId });
    log.add({ event: "begun", swarmId, workers: 1, parallel: 1 });
    const reason = { code: "AGENT_CRASH", message: "it crashed" };
    log.add({ event: "ended", worker: "login", status: "failed", reason });
  }

  test("tells what happened in the present swarm, of one worker, or in an earlier one", async ({ place }) => {
    await addEvents(place);
    // Somebody else may write there, too.
    appendFileSync(
      join(place.repository, ".aimi/events.ndjson"),
      `${JSON.stringify({ at: "\u001b[2J", swarmId: place.swarmId, event: "line", worker: "a\u009b2J\nb", why: "\u202ex" })}\n`,
    );

    const [all, one, earlier, none, json] = await Promise.all([
      place.swarm("events"),
      place.swarm("events", "--worker", "log"),
      place.swarm("events", "--swarm", "1111"),
      place.swarm("events", "--swarm", "2222"),
      place.swarm("events", "--json"),
    ]);

    const ended = "2026-01-02T03:04:05Z  login  failed, AGENT_CRASH: it crashed\n";
    const begun = `2026-01-02T03:04:05Z  swarm  swarm ${place.swarmId} started with 1 worker, at most 1 in parallel\n`;
    expect(all).toEqual({
      exit: 0,
      stdout: `${begun}${ended}  a b  connection to the worker : x\n`,
      stderr: "",
    });
    expect(one).toEqual({ exit: 0, stdout: ended, stderr: "" });
    expect(earlier.stdout).toBe("2026-01-02T03:04:05Z  old  started\n");
    expect(none).toEqual({ exit: 0, stdout: "", stderr: "The event log contains no matching events.\n" });
    const kept = json.stdout.trim().split("\n");
    expect(kept.slice(0, 2)).toEqual(
      readFileSync(join(place.repository, ".aimi/events.ndjson"), "utf8").split("\n").slice(1, 3),
    );
    for (const line of kept.slice(0, 2))
      expect(await findSchemaViolations("event", JSON.parse(line))).toEqual([]);
    expect(json.stdout).not.toMatch(/[\u001b\u009b\u202e]/);
  });

  test("with -f goes on until Ctrl-C", async ({ place }) => {
    await addEvents(place);
    const child = spawn(swarmProgram, ["events", "-f", "--json", "--worker", "login"], {
      cwd: place.repository,
      env: { ...process.env, ...place.env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exited = once(child, "exit");
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const next = async (): Promise<unknown> => JSON.parse((await lines.next()).value ?? "null");
    expect(await next()).toMatchObject({ event: "ended" });

    await using log = eventLog({
      ...{ folder: join(place.repository, ".aimi"), swarmId: place.swarmId, clock: () => new Date() },
    });
    log.add({ event: "started", worker: "login" });

    expect(await next()).toMatchObject({ event: "started" });
    child.kill("SIGINT");
    expect(await exited).toEqual([130, null]);
  });

  test("where there are none it says so; a link that leads out is not followed", async ({
    place,
    folder,
  }) => {
    expect(await place.swarm("events")).toMatchObject({
      exit: 0,
      stdout: "",
      stderr: expect.stringMatching(/no matching events/),
    });

    writeFileSync(join(folder, "outside"), "");
    symlinkSync(join(folder, "outside"), join(place.repository, ".aimi/events.ndjson"));
    expect(await place.swarm("events")).toMatchObject({
      exit: 3,
      stderr: expect.stringContaining("error FILE_FAILED"),
    });
  });
});

plain("the words of the help and of the results are the same commands", async () => {
  const { commands } = await import("../../../src/cli/flags/commands.ts");
  const known = commands.map(({ name }) => name.split(" ")[0]);

  for (const named of ["diff", "summary", "events", "logs", "retry", "resume", "plan"])
    expect(known).toContain(named);
});
