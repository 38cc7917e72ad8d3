import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { TaskFile } from "../../../src/contract/tasks.ts";
import { createCommitReader } from "../../../src/git/commit-reader.ts";
import { createGit } from "../../../src/git/git.ts";
import {
  explainSettings,
  type SettingsFile,
  settingsWithoutOrigins,
} from "../../../src/settings/rules/settings.ts";
import {
  type CreatedTask,
  type MakeTaskAccess,
  makeTask,
  type NewTaskRequest,
} from "../../../src/tasks/make-task.ts";
import { parseTaskFile } from "../../../src/tasks/parse-task-file.ts";
import { openTaskFolder } from "../../../src/tasks/task-folder.ts";
import { test, writeTask } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

const today = "2026-01-02";
const settings: SettingsFile = {
  agent: "command",
  agentCommand: ["sh", "agent.sh"],
  network: "none",
  verify: [],
};

async function make(
  repository: string,
  change: Partial<NewTaskRequest> = {},
  { done = [], ...more }: { readonly done?: readonly string[] } & SettingsFile = {},
): Promise<CreatedTask & { readonly taskFile: TaskFile }> {
  const ledger = done.map((sha256) => ({
    ...{ sha256, file: "", outcome: "completed" as const, swarmId: "", at: "" },
  }));
  const sources = { flag: { ...settings, ...more }, environment: {}, project: {}, user: {} };
  const explained = explainSettings(sources, { projectTrusted: false });
  const effective = settingsWithoutOrigins(explained);
  const project: MakeTaskAccess = {
    host: { clock: () => new Date(`${today}T03:04:05Z`) },
    repository: async () => ({ root: repository }),
    settings: async () => ({ explained, effective, projectFile: null, user: {} }),
    tasks: {
      folder: async () => openTaskFolder(repository),
      ledger: async () => ({ read: async () => ledger, add: async () => {} }),
    },
    git: {
      commits: async () => createCommitReader(repository),
      queries: async () => createGit(repository),
    },
  };
  const words = { prompt: "Fix the login form", branch: null, verify: null, ...change };
  const made = await makeTask(project, words);
  const bytes = readFileSync(join(repository, made.file));
  // What was written is valid, whatever was asked for.
  return { ...made, taskFile: (await parseTaskFile(bytes, made.file)).document };
}

function commitFiles(repository: string, files: Readonly<Record<string, string>>): void {
  for (const [path, content] of Object.entries(files)) write(repository, path, content);
  git(repository, "add", "--all");
  git(repository, "-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-qm", "More");
}

describe("a task file from a prompt", () => {
  test("has one story, its own branch, and the agent that counts now", async ({ repository }) => {
    const { file, branch, isNew, check, taskFile } = await make(repository);

    expect({ file, branch, isNew, check }).toEqual({
      file: ".aimi/tasks/2026-01-02-fix-the-login-form-tasks.json",
      branch: "swarm/fix-the-login-form",
      isNew: true,
      check: { kind: "none" },
    });
    expect(taskFile.metadata).toEqual({
      title: "Fix the login form",
      branchName: branch,
      createdAt: today,
      agent: { kind: "command", command: ["sh", "agent.sh"] },
    });
    expect(taskFile.userStories).toEqual([
      expect.objectContaining({ id: "US-001", description: "Fix the login form" }),
    ]);
  });

  test("loses no word of a long prompt", async ({ repository }) => {
    const prompt = `Fix it. ${"And this, too. ".repeat(1000)}\n\n{{id}} \u001b[2J the end`;

    const { taskFile } = await make(repository, { prompt });

    const [story] = taskFile.userStories;
    expect(story?.title).toBe("Fix it.");
    expect(story?.notes).toBe(prompt);
    expect(`${story?.description} ${story?.acceptanceCriteria.join(" ")}`).toContain("notes");
  });

  test.for<[prompt: string, name: string]>([
    ["Überprüfe   die\nAnmeldung!", "u-berpru-fe-die-anmeldung"],
    ["Add a very long explanation of everything", "add-a-very-long"],
    ["日本語で書く", "task"],
    ["x".repeat(60), "x".repeat(25)],
    ["../../etc/passwd $(reboot)", "etc-passwd-reboot"],
  ])("%j is called %s", async ([prompt, name], { repository }) => {
    expect((await make(repository, { prompt })).file).toBe(`.aimi/tasks/${today}-${name}-tasks.json`);
  });

  test("is taken up again until it was carried out; then there is another one", async ({ repository }) => {
    const first = await make(repository);
    const { sha256 } = await openTaskFolder(repository).read(first.file);

    expect(await make(repository)).toMatchObject({ file: first.file, isNew: false });
    expect(await make(repository, {}, { done: [sha256] })).toMatchObject({
      file: ".aimi/tasks/2026-01-02-fix-the-login-form-2-tasks.json",
      branch: "swarm/fix-the-login-form-2",
      isNew: true,
    });
  });

  test("goes over no other file, whatever lies there, and takes nobody's branch", async ({ repository }) => {
    const name = (count: string) => `2026-01-02-fix-the-login-form${count}-tasks.json`;
    const mine = writeTask(repository, name(""), "mine");
    mkdirSync(join(repository, ".aimi/tasks", name("-2")));
    writeTask(
      repository,
      "2025-01-01-a-tasks.json",
      taskFileWith({ metadata: { branchName: "swarm/fix-the-login-form-3/deep" } }),
    );
    git(repository, "branch", "swarm/fix-the-login-form-4");

    const { file, branch } = await make(repository);

    expect({ file, branch }).toEqual({
      file: `.aimi/tasks/${name("-5")}`,
      branch: "swarm/fix-the-login-form-5",
    });
    expect(readFileSync(mine, "utf8")).toBe("mine");
  });

  test("finds a branch where somebody has one that is called swarm", async ({ repository }) => {
    git(repository, "branch", "swarm");
    expect((await make(repository)).branch).toBe("swarm-fix-the-login-form");
  });

  test("goes beside the branches of a remote that is called swarm", async ({ repository }) => {
    git(repository, "remote", "add", "swarm", "https://example.invalid/x.git");
    expect((await make(repository)).branch).toBe("swarm-fix-the-login-form");
  });

  test.for(["stash", "refs/heads/main", "origin/main", "up/main", "ORIG_HEAD"])(
    "is not written for the branch %s",
    async (branch, { repository }) => {
      git(repository, "remote", "add", "up", "https://example.invalid/x.git");

      await expect(make(repository, { branch })).rejects.toMatchObject({ code: "INVALID_VALUE" });
      expect(existsSync(join(repository, ".aimi"))).toBe(false);
    },
  );

  test("goes to the branch that was named, unless another task file has it", async ({ repository }) => {
    expect((await make(repository, { branch: "fix/login" })).branch).toBe("fix/login");

    await expect(
      make(repository, { prompt: "Something else", branch: "fix/login/deep" }),
    ).rejects.toMatchObject({
      code: "INVALID_VALUE",
      hint: expect.stringContaining("2026-01-02-fix-the-login-form-tasks.json"),
    });
  });

  test.for<[name: string, wrong: Partial<NewTaskRequest>, message: RegExp]>([
    ["an empty prompt", { prompt: " \n\u0007 " }, /prompt is empty/],
    [
      "a prompt without end",
      { prompt: "x".repeat(120_001) },
      /120001 characters, but swarm accepts at most 120000/,
    ],
    ["a branch like a flag", { branch: "-x" }, /--branch cannot be "-x"/],
    ["a long branch", { branch: "x".repeat(201) }, /--branch cannot be/],
    ["an empty check", { verify: [" "] }, /--verify cannot be " "/],
    ["too many checks", { verify: Array(51).fill("true") }, /--verify cannot be "51 commands"/],
  ])("%s is refused, and nothing is written", async ([, wrong, message], { repository }) => {
    await expect(make(repository, wrong)).rejects.toThrow(message);
    expect(readdirSync(repository)).not.toContain(".aimi");
  });

  test("an agent that could not begin is refused, and nothing is written", async ({ repository }) => {
    await expect(make(repository, {}, { agentCommand: [] })).rejects.toMatchObject({ code: "USAGE" });
    await expect(make(repository, {}, { agent: "claude" })).rejects.toMatchObject({
      code: "AGENT_NEEDS_NETWORK",
    });
    expect(readdirSync(repository)).not.toContain(".aimi");

    const { taskFile } = await make(repository, {}, { agent: "claude", network: "bridge" });
    expect(taskFile.metadata.agent).toEqual({ kind: "claude" });
  });
});

describe("the check of such a task", () => {
  const npm = { "package.json": '{"scripts":{"test":"node --test"}}' };

  test("is the repository's own at HEAD, whatever the working tree says", async ({ repository }) => {
    commitFiles(repository, npm);
    write(repository, "package.json", "{}");

    const { check, taskFile } = await make(repository);

    expect(check).toMatchObject({ kind: "found", command: "npm test" });
    expect(taskFile.metadata.verify).toEqual(["npm test"]);
  });

  test("is what was asked for before all, then that of the settings", async ({ repository }) => {
    commitFiles(repository, npm);

    const asked = await make(repository, { verify: ["make lint", "make"] }, { verify: ["true"] });
    const without = await make(repository, { prompt: "Two", verify: [] }, { verify: ["true"] });
    const set = await make(repository, { prompt: "Three" }, { verify: ["true"] });

    expect(asked.taskFile.metadata.verify).toEqual(["make lint", "make"]);
    expect(without.taskFile.metadata.verify).toEqual([]);
    expect(set.check).toEqual({ kind: "settings", commands: ["true"] });
    expect(set.taskFile.metadata).not.toHaveProperty("verify");
  });

  test("is none where it could only fail", async ({ repository }) => {
    commitFiles(repository, { "build.gradle": "" });

    const { check, taskFile } = await make(repository);

    expect(check).toMatchObject({ kind: "not in the image", command: "gradle test" });
    expect(taskFile.metadata).not.toHaveProperty("verify");
  });
});
