import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test as base, type TestAPI } from "vitest";
import { git, write } from "./git/repository.ts";

/** Tests with a real folder of their own, gone afterwards. */
export const test: TestAPI<{ folder: string; repository: string }> = base.extend<{
  folder: string;
  repository: string;
}>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the fixtures that a fixture needs from this pattern.
  folder: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "swarm-"));
    await use(folder);
    rmSync(folder, { recursive: true, force: true });
  },
  /** A git repository with one commit. */
  repository: async ({ folder }, use) => {
    const repository = join(folder, "repository");
    makeRepository(repository);
    await use(repository);
  },
});

/** A git repository with one commit that has a README. */
function makeRepository(folder: string): void {
  mkdirSync(folder, { recursive: true });
  git(folder, "init", "--quiet", "--initial-branch=main");
  write(folder, "README.md", "# A sample\n");
  git(folder, "add", "--all");
  commit(folder, "Begin");
}

function commit(folder: string, message: string): void {
  git(
    folder,
    "-c",
    "user.name=Tester",
    "-c",
    "user.email=tester@example.invalid",
    "commit",
    "--quiet",
    "--allow-empty",
    "--message",
    message,
  );
}

/** Writes a task file as people would. */
export function writeTask(repository: string, name: string, taskFile: unknown): string {
  return write(
    repository,
    `.aimi/tasks/${name}`,
    typeof taskFile === "string" ? taskFile : JSON.stringify(taskFile, null, 2),
  );
}
