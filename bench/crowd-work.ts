import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { branchOf, fileOf, storyIds } from "./swarm-runs.ts";

/** A story's commit as an adapter stores it for the host. */
export interface Bundled {
  readonly storyId: string;
  /** The commit before it. */
  readonly from: string;
  readonly commit: string;
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly sha256: string;
}

/** The work of as many workers, made before anybody asks for it, in a clone of the repository. */
export function crowdWork(
  repository: string,
  workers: number,
  folder: string,
): ReadonlyMap<string, readonly Bundled[]> {
  const clone = join(folder, "crowd.git");
  execFileSync("git", ["clone", "--quiet", "--bare", repository, clone]);
  const git = (words: readonly string[], input = ""): string =>
    execFileSync("git", words, { cwd: clone, encoding: "utf8", input }).trim();
  const base = git(["rev-parse", "HEAD"]);
  git(["fast-import", "--quiet"], commitsOf(workers, base));
  const workByBranch = new Map<string, readonly Bundled[]>();
  for (let worker = 1; worker <= workers; worker += 1) {
    const branch = branchOf(worker);
    const commits = git(["rev-list", "--reverse", `${base}..made/${worker}`]).split("\n");
    workByBranch.set(
      branch,
      storyIds.map((storyId, index) => {
        const commit = commits[index] ?? "";
        const file = join(folder, "one.bundle");
        git(["update-ref", `refs/heads/${branch}`, commit]);
        git(["bundle", "create", "--quiet", file, `${base}..refs/heads/${branch}`]);
        const bytes = readFileSync(file);
        const sha256 = createHash("sha256").update(bytes).digest("hex");
        const from = index === 0 ? base : (commits[index - 1] ?? "");
        return { storyId, from, commit, path: `/aimi/out/${index + 1}.bundle`, bytes, sha256 };
      }),
    );
  }
  return workByBranch;
}

/** For `git fast-import`: three commits on a branch of their own for each worker. */
function commitsOf(workers: number, base: string): string {
  const lines: string[] = [];
  for (let worker = 1; worker <= workers; worker += 1)
    for (const [index, id] of storyIds.entries())
      lines.push(
        ...[`commit refs/heads/made/${worker}`, "committer Bench <bench@example.invalid> 1767323045 +0000"],
        ...[`data ${`Do ${id}`.length}`, `Do ${id}`],
        ...(index === 0 ? [`from ${base}`] : []),
        ...[`M 100644 inline ${fileOf(worker, id)}`, `data ${id.length + 1}`, `${id}\n`],
      );
  return `${lines.join("\n")}\n`;
}
