import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test as plain } from "vitest";
import { errorCatalogue } from "../../src/errors/error-catalogue.ts";
import { exitCodes } from "../../src/errors/exit-codes.ts";
import { parseSettings } from "../../src/settings/parse-settings.ts";
import { type ContainerStatus, canChangeStatus } from "../../src/state/rules/container-status.ts";
import { parseTaskFile } from "../../src/tasks/parse-task-file.ts";
import { swarm } from "../fakes/cli/swarm-command.ts";
import { test, writeTask } from "../fakes/folders.ts";
import { taskFileWith } from "../fakes/tasks/task-files.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const pages = [
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "skills/task-files/SKILL.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
];
const textOf = (page: string): string => readFileSync(join(root, page), "utf8");

/** The fenced blocks of a language, over all pages. */
function blocks(language: string): [page: string, block: string][] {
  return pages.flatMap((page) =>
    [...textOf(page).matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
      ([, block = ""]): [string, string] => [page, block],
    ),
  );
}

/** Every `swarm …` line that the pages tell people to type, once; those for the engine and for the crontab have tests of their own. */
const commands = [
  ...new Set(
    blocks("sh").flatMap(([, block]) => block.split("\n").filter((line) => line.startsWith("swarm "))),
  ),
].filter((line) => !/^swarm (?:engine st|schedule )/.test(line));

describe("the pages", () => {
  plain("have commands to try", () => {
    expect(commands.length).toBeGreaterThanOrEqual(3);
  });

  for (const command of commands) {
    test(`\`${command}\` is a command, and does not end in a usage error`, async ({ repository, folder }) => {
      writeTask(repository, "2026-01-02-login-tasks.json", taskFileWith());
      const words = (command.split("#")[0] ?? "").trim().split(" ").slice(1);

      const { exit, stderr } = await swarm(
        {
          folder: repository,
          env: {
            HOME: folder,
            SWARM_STATE_DIR: join(folder, "state"),
            DOCKER_HOST: `unix://${folder}/none.sock`,
          },
        },
        ...words,
      );

      expect(stderr).not.toMatch(/error (USAGE|BUG)/);
      // Without an engine (3), a swarm (2, STATE_MISSING) or a key (4) some have nothing to work on or with, and say so.
      expect(
        exit === 0 ||
          /error (STATE_MISSING|ENGINE_UNREACHABLE|CONTAINER_UNKNOWN|TASK_FILE_NOT_FOUND|SANDBOX_NONE|CLAUDE_MISSING|CREDENTIALS_MISSING)|next: fix the problems/.test(
            stderr,
          ),
        stderr,
      ).toBe(true);
    });
  }

  plain.for(blocks("json"))("the JSON in %s is valid for what it is", async ([page, block]) => {
    const bytes = Buffer.from(block);

    await ("userStories" in JSON.parse(block) ? parseTaskFile(bytes, page) : parseSettings(bytes, page));
  });

  plain.for(pages)("every link in %s leads somewhere", (page) => {
    const targets = [...textOf(page).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)]
      .map(([, target = ""]) => target)
      .filter((target) => !target.includes("://"));

    expect(targets.filter((target) => !existsSync(join(root, dirname(page), target)))).toEqual([]);
  });

  plain.for(pages)("every file of the project that %s names exists", (page) => {
    const named = [
      ...textOf(page).matchAll(/`((?:src|test|schemas|adapter|scripts|bench|bin)\/[\w./-]+\.\w+)`/g),
    ].map(([, file = ""]) => file);

    expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  plain("README.md is short enough to read: at most 150 lines", () => {
    expect(textOf("README.md").trimEnd().split("\n").length).toBeLessThanOrEqual(150);
  });

  plain("docs/errors.md has every error with its exit code, and every exit code", () => {
    const rows = new Map(
      [...textOf("docs/errors.md").matchAll(/^\| `([A-Z_]+)` \| (\d+) \|/gm)].map(([, code, exit]) => [
        code,
        Number(exit),
      ]),
    );

    expect(Object.fromEntries(rows)).toEqual(
      Object.fromEntries(Object.entries(errorCatalogue).map(([code, { exitCode }]) => [code, exitCode])),
    );
    for (const exit of Object.values(exitCodes))
      expect(textOf("docs/errors.md")).toMatch(new RegExp(`^\\| ${exit} \\|`, "m"));
  });

  plain("docs/state.md has the transition table that the code has", () => {
    const [, header = "", ...rows] =
      /^\| from \\ to (\|.*\|)\n\|[-|]+\|\n((?:\|.*\|\n)+)/m.exec(textOf("docs/state.md")) ?? [];
    const cellsOf = (line: string): string[] =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim());
    const columns = cellsOf(header) as ContainerStatus[];
    const table = (rows[0] ?? "").trim().split("\n").map(cellsOf);

    expect(table).toHaveLength(5);
    for (const [from, ...cells] of table) {
      cells.forEach((cell, index) => {
        const to = columns[index] as ContainerStatus;
        if (from === to) return;
        expect(canChangeStatus(from as ContainerStatus, to), `${from} → ${to}: ${cell}`).toBe(
          /^(yes|through)/.test(cell),
        );
      });
    }
  });
});
