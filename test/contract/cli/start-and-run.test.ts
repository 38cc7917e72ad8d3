import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { TaskFile } from "../../../src/contract/tasks.ts";
import { type Finished, swarm as run, swarmProgram } from "../../fakes/cli/swarm-command.ts";
import { test as base, writeTask } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

type Swarm = (...words: string[]) => Promise<Finished>;

/** Tests with the command in a repository of its own, and no engine to find. */
const test = base.extend<{ env: Record<string, string>; swarm: Swarm }>({
  env: async ({ folder }, use) => {
    await use({
      HOME: folder,
      SWARM_STATE_DIR: join(folder, "state"),
      DOCKER_HOST: `unix://${folder}/none.sock`,
    });
  },
  swarm: async ({ repository, env }, use) => {
    await use((...words) => run({ folder: repository, env }, ...words));
  },
});

const program = ["--agent", "command", "--", "sh", "-c", "echo done > a.txt"];
const today = new Date().toISOString().slice(0, 10);

function taskAt(repository: string, name: string): TaskFile {
  return JSON.parse(readFileSync(join(repository, `.aimi/tasks/${today}-${name}-tasks.json`), "utf8"));
}

function writeTasks(repository: string, ...names: readonly string[]): void {
  for (const name of names)
    writeTask(
      repository,
      `${name}-tasks.json`,
      taskFileWith({ metadata: { branchName: `feat/${name}`, title: `feat: ${name}` } }),
    );
}

describe("swarm run", () => {
  test("writes the task file, says which check it found and starts it; without an engine that is exit 3", async ({
    swarm,
    repository,
  }) => {
    write(repository, "package.json", '{"scripts":{"test":"node --test"}}');
    git(repository, "add", "--all");
    git(repository, "-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-qm", "Tests");

    const first = await swarm("run", "Fix the form", ...program);
    const second = await swarm("run", "Fix the form", ...program);

    expect(first.exit, first.stderr).toBe(3);
    expect(first.stderr).toContain(`wrote .aimi/tasks/${today}-fix-the-form-tasks.json`);
    expect(first.stderr).toContain("check: npm test (package.json has a test script)");
    expect(first.stderr).toContain("ENGINE_UNREACHABLE");
    expect(second.stderr).toContain(`reuses .aimi/tasks/${today}-fix-the-form-tasks.json`);
    expect(taskAt(repository, "fix-the-form").metadata).toMatchObject({
      branchName: "swarm/fix-the-form",
      agent: { kind: "command", command: ["sh", "-c", "echo done > a.txt"] },
      verify: ["npm test"],
    });
    expect((await swarm("plan")).exit).toBe(0);
  });

  test("takes the prompt in one word or several, checks, none, and a branch", async ({
    swarm,
    repository,
  }) => {
    const none = await swarm("run", "Add", "a", "page", ...program);
    await swarm("run", "Checked", "--verify", "test -s a.txt", "--verify", "true", ...program);
    const without = await swarm("run", "Unchecked", "--no-verify", "--branch", "docs/x", ...program);

    expect(none.stderr).toContain(
      "no check: swarm trusts the agent's own statement that the work is done; --verify sets a check\n",
    );
    expect(taskAt(repository, "add-a-page").userStories[0]?.description).toBe("Add a page");
    expect(taskAt(repository, "checked").metadata.verify).toEqual(["test -s a.txt", "true"]);
    expect(without.stderr).toContain("no check (--no-verify)");
    expect(taskAt(repository, "unchecked").metadata).toMatchObject({ branchName: "docs/x", verify: [] });
  });

  test("says which check it would have, were its tools in the image", async ({ swarm, repository }) => {
    write(repository, "Makefile", "test:\n\ttrue\n");
    git(repository, "add", "--all");
    git(repository, "-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-qm", "Tests");

    const { stderr } = await swarm("run", "Fix it", ...program);

    expect(stderr).toMatch(/no check: .*make test \(Makefile has a target named test\) would be a check/);
  });

  const mistakes: [words: string[], message: RegExp][] = [
    [["run"], /missing required argument 'prompt'/],
    [["run", " "], /the prompt is empty/],
    [["run", "README.md"], /README\.md is a file: `swarm sandbox run README\.md`/],
    [["run", "Fix", "--agent", "command"], /--agent command -- program/],
    [["run", "Fix", "--agent", "claude", "--", "sh"], /with --agent claude, no program may follow/],
    [["run", "Fix", "--branch", "a..b", ...program], /--branch cannot be "a\.\.b"/],
    [["run", "Fix", "--agent", "script", "--", "a.json", "b.json"], /one script below \.aimi/],
    [["run", "Fix", "--agent", "command", "--", "sh", ""], /the agent's program after -- cannot be/],
  ];
  for (const [words, message] of mistakes)
    test(`swarm ${words.join(" ")}: exit 2, one clear error, nothing written`, async ({
      swarm,
      repository,
    }) => {
      const { exit, stdout, stderr } = await swarm(...words);

      expect({ exit, stdout }, stderr).toEqual({ exit: 2, stdout: "" });
      expect(stderr).toMatch(message);
      expect(existsSync(join(repository, ".aimi"))).toBe(false);
    });
});

describe("the agent of task files that name none", () => {
  test("comes with its program after --; without one nothing is planned", async ({ swarm, repository }) => {
    writeTasks(repository, "login");

    const with_ = await swarm("config", "explain", ...program);
    const without = await swarm("start", "--all", "--agent", "command");
    const planned = await swarm("plan", "--json", ...program);

    expect(with_.stdout).toMatch(/^agentCommand +sh, -c, echo done > a\.txt +flag$/m);
    expect(without).toMatchObject({
      exit: 2,
      stderr: expect.stringMatching(/login-tasks\.json names no agent.*--agent command -- program/),
    });
    expect(JSON.parse(planned.stdout).tasks[0].agent).toBe("command");
    expect((await swarm("start", "--all", ...program)).stderr).toContain("ENGINE_UNREACHABLE");
  });

  test("may stand in the project's settings", async ({ swarm, repository }) => {
    writeTasks(repository, "login");
    write(repository, ".aimi/config.json", '{"agent": "command", "agentCommand": ["sh", "agent.sh"]}');

    expect((await swarm("plan")).exit).toBe(0);
    expect((await swarm("start", "--all")).stderr).toContain("ENGINE_UNREACHABLE");
  });
});

describe("which task files `swarm start` takes", () => {
  test("without a terminal nobody is asked", async ({ swarm, repository }) => {
    writeTasks(repository, "login");

    expect(await swarm("start")).toMatchObject({
      ...{ exit: 2, stdout: "" },
      stderr: expect.stringMatching(/^error WOULD_ASK: .*\nhint: .*--all\.\n$/),
    });
  });

  test("the spellings of before work and are not shown", async ({ swarm, repository }) => {
    writeTasks(repository, "login", "logout");

    const one = await swarm("start", "--file", "login-tasks.json", "--max", "2", ...program);
    const several = await swarm("start", "--files", "login-tasks.json,logout-tasks.json", ...program);

    for (const { exit, stderr } of [one, several]) {
      expect(exit).toBe(3);
      expect(stderr).toContain("ENGINE_UNREACHABLE");
    }
    expect(await swarm("start", "--file", "nosuch-tasks.json")).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("TASK_FILE_NOT_FOUND"),
    });
    expect((await swarm("start", "--all", "--max", "0")).stderr).toContain('--parallel cannot be "0"');
    expect((await swarm("help", "start")).stdout).not.toMatch(/--files? |--max /);
    expect((await swarm("completion", "bash")).stdout).not.toMatch(/--files? |--max /);
  });

  /** Types an answer at each question, as at a terminal. */
  async function choose(
    place: { readonly repository: string; readonly env: Record<string, string> },
    words: readonly string[],
    answers: readonly string[],
  ): Promise<{ readonly exit: unknown; readonly text: string }> {
    const quoted = [swarmProgram, ...words].map((word) => `'${word}'`).join(" ");
    const child = spawn("script", ["--quiet", "--return", "--command", quoted, "/dev/null"], {
      cwd: place.repository,
      env: { ...process.env, NO_COLOR: "1", TERM: "xterm", ...place.env },
      stdio: ["pipe", "pipe", "inherit"],
    });
    let text = "";
    let asked = 0;
    const exited = once(child, "exit");
    for await (const chunk of child.stdout) {
      text += chunk;
      while (asked < answers.length && text.split("Which task files?").length - 1 > asked) {
        child.stdin.write(`${answers[asked]}\r`);
        asked += 1;
      }
    }
    const [exit] = await exited;
    return { exit, text };
  }

  test("on a terminal they are listed, and chosen by number or name", async ({ repository, env }) => {
    writeTasks(repository, "login", "logout");

    const { exit, text } = await choose({ repository, env }, ["start", ...program], ["7", "2,login"]);

    expect(text).toMatch(/1 {2}login +feat: login +feat\/login +1 story/);
    expect(text).toMatch(/2 {2}logout/);
    expect(text).toContain("7: the tasks have the numbers 1 to 2");
    expect(text).toContain("ENGINE_UNREACHABLE");
    expect(exit).toBe(3);
  });

  test("nothing is an answer, and three that mean nothing are enough", async ({ repository, env }) => {
    writeTasks(repository, "login");

    const none = await choose({ repository, env }, ["start"], [""]);
    const wrong = await choose({ repository, env }, ["start"], ["x", "y", "z"]);

    expect(none.exit).toBe(0);
    expect(none.text).toContain("next: `swarm start --all`");
    expect(wrong.exit).toBe(2);
    expect(wrong.text).toContain("no task file was chosen: z: the answer is neither");
  });

  test("where there is nothing to choose from, it says so", async ({ repository, env }) => {
    const { exit, text } = await choose({ repository, env }, ["start"], []);

    expect(exit).toBe(0);
    expect(text).toContain("`swarm init` writes an example");
  });
});

describe("a start with nothing to carry out says why", () => {
  /** As a swarm remembers what it has carried out. */
  const carriedOut = (repository: string, ...names: readonly string[]): void => {
    const lines = names.map((name) => {
      const bytes = readFileSync(join(repository, ".aimi", "tasks", `${name}-tasks.json`));
      const sha256 = createHash("sha256").update(bytes).digest("hex");
      const at = "2026-01-02T00:00:00.000Z";
      return JSON.stringify({ sha256, file: `${name}-tasks.json`, outcome: "failed", swarmId: "x", at });
    });
    write(join(repository, ".git", "aimi"), "ledger.ndjson", `${lines.join("\n")}\n`);
  };

  for (const detach of [[], ["-d"]]) {
    const start = ["start", ...detach, ...program.slice(0, 2)];

    test(`no task file, ${start.join(" ")}`, async ({ swarm }) => {
      const { stdout, stderr, exit } = await swarm(...start, "--all", ...program.slice(2));

      expect(exit, stderr).toBe(0);
      expect(stdout).toBe("Nothing to carry out: this repository has no task file.\n");
      expect(stderr).toContain("next: `swarm init` writes an example task file");
      expect(stderr).not.toContain("--again");
    });

    test(`the one that was named failed before, ${start.join(" ")}`, async ({ swarm, repository }) => {
      writeTasks(repository, "login", "logout");
      carriedOut(repository, "login");
      const file = ".aimi/tasks/login-tasks.json";

      const { stdout, stderr } = await swarm(...start, file, ...program.slice(2));

      expect(stdout, stderr).toBe(
        `Nothing to carry out: ${file} failed on 2026-01-02 with the same content.\n`,
      );
      expect(stderr).toContain(`next: \`swarm start ${file} --again\` carries out this task file again`);
    });

    test(`all were carried out before, ${start.join(" ")}`, async ({ swarm, repository }) => {
      writeTasks(repository, "login", "logout");
      carriedOut(repository, "login", "logout");

      const { stdout, stderr } = await swarm(...start, "--all", ...program.slice(2));

      expect(stdout, stderr).toBe(
        "Nothing to carry out: all 2 task files were already carried out with the same content.\n",
      );
      expect(stderr).toContain("next: `swarm start --all --again` carries out the task files again");
    });
  }
});
