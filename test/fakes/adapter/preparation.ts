import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { StartCommandTimeLimit } from "../../../adapter/machine/command-time-limits.ts";
import type { SandboxPaths } from "../../../adapter/machine/sandbox-paths.ts";
import type { ChangedFilesLimits } from "../../../adapter/workspace/changed-files-limits.ts";
import { Workspace } from "../../../adapter/workspace/workspace.ts";
import { createWorkspaceReadyMarker } from "../../../adapter/workspace/workspace-ready-marker.ts";
import { git, write } from "../git/repository.ts";

const program = fileURLToPath(new URL("prepare-process.ts", import.meta.url));
const identity = ["-c", "user.name=T", "-c", "user.email=t@example.invalid"];

export const agentBranch = "feat/work";

/** A worker that has lost its container after its first story was collected, in a folder instead of a container. */
export interface Preparation {
  readonly base: string;
  /** What the first story made; its bundle lies in the volume. */
  readonly good: string;
  /** What the second story had made, as a snapshot in the volume; null where it was not begun. */
  readonly wip: string | null;
  /** Whether the repository lies in the image, or comes as a bundle. */
  readonly isInImage: boolean;
}

export const agentEnv: Readonly<Record<string, string>> = {
  PATH: process.env["PATH"] ?? "",
  HOME: "/nonexistent",
};

export const noLimit: StartCommandTimeLimit = () => ({
  signal: new AbortController().signal,
  [Symbol.dispose]() {},
});

export const noWorkLimits: ChangedFilesLimits = {
  ...{ workFiles: Number.POSITIVE_INFINITY, workBytes: Number.POSITIVE_INFINITY },
  workFileBytes: Number.POSITIVE_INFINITY,
};

export const preparationPaths = (folder: string): SandboxPaths => ({
  ...{ workspace: join(folder, "workspace"), home: join(folder, "home") },
  ...{ aimi: join(folder, "aimi"), layer: join(folder, "layer") },
});

/** Makes the volume once; `newContainer` makes the rest as often as it is needed. */
export function makePreparation(
  folder: string,
  { isBegun, isInImage = true }: { readonly isBegun: boolean; readonly isInImage?: boolean },
): Preparation {
  const { aimi, home, workspace: _, layer: __ } = preparationPaths(folder);
  // The agent's user goes through it.
  chmodSync(folder, 0o755);
  for (const path of [aimi, home]) mkdirSync(path);
  for (const name of ["in", "out"]) mkdirSync(join(aimi, name));
  const origin = join(folder, "origin");
  git(folder, "init", "--quiet", "--initial-branch=main", origin);
  const commit = (message: string): string => {
    git(origin, "add", "--all");
    git(origin, ...identity, "commit", "--quiet", "--message", message);
    return git(origin, "rev-parse", "HEAD").trim();
  };
  write(origin, "README.md", "# A sample\n");
  write(origin, "old/gone.txt", "it goes\n");
  const base = commit("Begin");
  git(origin, "bundle", "create", "--quiet", join(aimi, "in", "repo.bundle"), "main");
  git(origin, "checkout", "--quiet", "-b", agentBranch);
  write(origin, "README.md", "# Another\n");
  write(origin, "new/deep/precious.txt", "precious\n");
  write(origin, "precious.txt", "precious\n");
  rmSync(join(origin, "old"), { recursive: true });
  const good = commit("US-001");
  git(origin, "bundle", "create", "--quiet", join(aimi, "out", "US-001.bundle"), agentBranch, `^${base}`);
  let wip: string | null = null;
  if (isBegun) {
    write(origin, "half.txt", "half\n");
    write(origin, "precious.txt", "more precious\n");
    wip = commit("Snapshot of US-002");
    git(origin, "update-ref", "refs/aimi/wip/US-002", wip);
    const bundle = join(aimi, "out", "wip.bundle");
    git(origin, "bundle", "create", "--quiet", bundle, "refs/aimi/wip/US-002", `^${base}`);
  }
  const preparation = { base, good, wip, isInImage };
  writeFileSync(join(folder, "preparation.json"), JSON.stringify(preparation));
  return preparation;
}

/** What a new container has: the image's files and nothing of the branch. */
export function newContainer(folder: string, { base, isInImage }: Preparation): void {
  const { workspace, layer } = preparationPaths(folder);
  for (const path of [workspace, layer]) rmSync(path, { recursive: true, force: true });
  if (!isInImage) {
    mkdirSync(workspace);
    chownSync(workspace, 1000, 1000);
    return;
  }
  git(folder, "clone", "--quiet", "--no-local", "--branch=main", join(folder, "origin"), workspace);
  git(workspace, "reset", "--quiet", "--hard", base);
  git(workspace, "remote", "remove", "origin");
  execFileSync("chown", ["-R", "1000:1000", workspace]);
}

/** What a kill leaves between the two: the branch is there, index and files are those of the image. */
export function cutOffByHand(folder: string): void {
  const { aimi, workspace } = preparationPaths(folder);
  const words = ["fetch", "--quiet", `${aimi}/out/US-001.bundle`, `${agentBranch}:${agentBranch}`];
  execFileSync("git", words, {
    cwd: workspace,
    uid: 1000,
    gid: 1000,
    env: { PATH: process.env["PATH"], HOME: "/" },
  });
}

export function workspaceOf(folder: string, { base }: Preparation): Workspace {
  const paths = preparationPaths(folder);
  return new Workspace({
    ...{ folder: paths.workspace, env: agentEnv, branch: agentBranch, base, exclude: "" },
    ...{ limit: noLimit, workLimits: noWorkLimits, mark: createWorkspaceReadyMarker(paths) },
  });
}

/** The tree that the files must have once all is prepared. */
export function treeWanted(folder: string, { good, wip }: Preparation): string {
  return git(join(folder, "origin"), "rev-parse", `${wip ?? good}^{tree}`).trim();
}

/** Prepares to the end, and gives the tree of the files. */
export function prepare(folder: string): string {
  return execFileSync(process.execPath, [program, folder], { encoding: "utf8" });
}

/** Calls that change the file system. Those with a delay give the test time to kill before the next one. */
const changing =
  "rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,symlinkat,truncate,ftruncate";
const delayUs = 3_000;

/**
 * Prepares under strace, and kills all of it at once after the system call of this number that changes the file system. Says
 * how many there were until its end.
 */
export async function prepareUntil(folder: string, call: number): Promise<number> {
  const child = spawn(
    "unshare",
    [
      // The end of the first process of a namespace is the end of all: nothing outlives the kill.
      ...["--pid", "--fork", "--kill-child", "strace", "-f", "--seccomp-bpf", "-qq"],
      ...["-e", `trace=${changing},open,openat,creat`, "-e", `inject=${changing}:delay_exit=${delayUs}`],
      // What strace sees goes to its error stream, and nothing else may.
      ...["--", "sh", "-c", 'exec "$@" 2> /dev/null', "sh", process.execPath, program, folder],
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  const exited = once(child, "exit");
  let calls = 0;
  for await (const line of createInterface({ input: child.stderr })) {
    if (/ (?:open|openat|creat)\(/.test(line) && !line.includes("O_CREAT") && !line.includes("creat("))
      continue;
    if (/ = -1 |resumed>|\+\+\+|---/.test(line)) continue;
    calls += 1;
    if (calls === call) child.kill("SIGKILL");
  }
  await exited;
  return calls;
}
