import { spawnSync } from "node:child_process";
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./processes.ts";

/** A fixed author and date give the same commit each time. */
const sampleAuthor = {
  GIT_AUTHOR_NAME: "Sample",
  GIT_AUTHOR_EMAIL: "sample@example.invalid",
  GIT_AUTHOR_DATE: "2026-01-02T00:00:00Z",
  GIT_COMMITTER_NAME: "Sample",
  GIT_COMMITTER_EMAIL: "sample@example.invalid",
  GIT_COMMITTER_DATE: "2026-01-02T00:00:00Z",
};

/** Makes a git repository of `scripts/sample`, with one commit. */
export async function makeSample(folder: string): Promise<void> {
  await cp(join(root, "scripts", "sample"), folder, { recursive: true });
  git(folder, "init", "--quiet", "--initial-branch=main");
  git(folder, "add", "--all");
  git(folder, "commit", "--quiet", "--message", "Begin");
}

function git(folder: string, ...args: string[]): void {
  const { status, stderr } = spawnSync("git", args, {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, ...sampleAuthor },
  });
  if (status !== 0) throw new Error(`git ${args[0]} failed: ${stderr}`);
}
