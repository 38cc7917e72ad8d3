import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect } from "vitest";
import { swarm } from "../../fakes/cli/swarm-command.ts";
import { test, writeTask } from "../../fakes/folders.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

describe("inside Claude Code", () => {
  test.for([
    "init",
    "plan",
    "plan --json",
    "status",
    "status --json",
    "config explain",
    "config explain --json",
    "state init",
    "state list --json",
    "trust",
    "version",
    "version --json",
    "doctor --json",
    "plugin path --json",
    "cleanup --dry-run",
  ])("`swarm %s` is compact and ends with what to type next", async (words, { repository, folder }) => {
    writeTask(repository, "2026-01-02-login-tasks.json", taskFileWith());
    const env = {
      ...{ HOME: folder, SWARM_STATE_DIR: join(folder, "state"), CLAUDECODE: "1" },
      DOCKER_HOST: `unix://${folder}/none.sock`,
    };
    const before = ["state list --json", "cleanup --dry-run"].includes(words);
    if (before) await swarm({ folder: repository, env }, "state", "init");

    const { stdout, stderr } = await swarm({ folder: repository, env }, ...words.split(" "));

    const lines = stderr.trimEnd().split("\n");
    // An error's hint says it.
    expect(lines.at(-1), stderr).toMatch(/^(?:next|hint): .*`/);
    expect(lines.filter((line) => /^(?:next|hint): /.test(line))).toHaveLength(1);
    if (words.includes("--json")) {
      expect(stdout.trimEnd().split("\n")).toHaveLength(1);
      expect(() => JSON.parse(stdout)).not.toThrow();
    }
    expect(stdout + stderr).not.toContain("\u001b");
  });

  test("outside of it, documents are for people to read and stand alone", async ({ repository, folder }) => {
    const env = { HOME: folder, CLAUDECODE: "", DOCKER_HOST: `unix://${folder}/none.sock` };
    const { stdout, stderr } = await swarm({ folder: repository, env }, "status", "--json");

    expect(stdout.split("\n").length).toBeGreaterThan(3);
    expect(stderr).toBe("");
  });
});

test("the plugin has the version of the package, and hooks that are there", () => {
  const read = (file: string) => JSON.parse(readFileSync(join(root, file), "utf8"));
  const { version } = read("package.json");
  expect(read(".claude-plugin/plugin.json").version).toBe(version);

  const groups = Object.values(read("hooks/hooks.json").hooks).flat() as { hooks: { command: string }[] }[];
  const scripts = groups.flatMap(({ hooks }) => hooks.map(({ command }) => command));
  expect(scripts).toHaveLength(3);
  for (const script of scripts) {
    expect(script).toMatch(/^\$\{CLAUDE_PLUGIN_ROOT\}\/hooks\/[a-z-]+\.sh$/);
    const text = readFileSync(join(root, script.replace("${CLAUDE_PLUGIN_ROOT}/", "")), "utf8");
    expect(text.startsWith("#!/bin/sh\n")).toBe(true);
  }
});
