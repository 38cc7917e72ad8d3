import { createHash } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import type { StoredBundle } from "../../src/contract/acp.ts";
import { syncFolder } from "../../src/machine/durable-write.ts";
import {
  killProcessGroupOnAbort,
  startProgramAsAgentUser,
  waitForProgramEnd,
} from "../machine/agent-user.ts";
import { countOomKills } from "../machine/oom-kills.ts";
import { type ProgramEnd, requireExitCode } from "../machine/program-end.ts";
import { outFolderPath, type SandboxPaths } from "../machine/sandbox-paths.ts";
import { GitFailure } from "./git.ts";
import type { Workspace } from "./workspace.ts";

/**
 * The maximum size of a git bundle, in bytes. The limit keeps an agent's commits from filling the adapter's
 * volume.
 */
const maxBytes = 4 * 1024 ** 3;

/**
 * Creates the git bundle `out/<name>` with all commits of `ref` that are not in the base commit's history.
 * Writes the file atomically and syncs it to disk.
 */
export async function storeBundle(
  paths: SandboxPaths,
  { git, spec }: Pick<Workspace, "git" | "spec">,
  name: string,
  ref: string,
): Promise<StoredBundle> {
  const commit = await git.run(["rev-parse", "--verify", "--end-of-options", `${ref}^{commit}`]);
  const folder = outFolderPath(paths);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = `${folder}/${name}`;
  // The draft can have a fixed name, since the supervisor makes bundles of the same name only one after another.
  const draft = `${path}.draft`;
  await using undo = new AsyncDisposableStack();
  undo.defer(() => rm(draft, { force: true }));

  const args = ["bundle", "create", "--quiet", "--version=2", "-", "--end-of-options", ref, `^${spec.base}`];
  using limited = spec.limit();
  const enough = new AbortController();
  const memoryKills = await countOomKills();
  const hash = createHash("sha256");
  let bytes = 0;
  let stderrTail = "";
  let end: ProgramEnd;
  {
    await using file = await open(draft, "w", 0o600);
    const child = startProgramAsAgentUser({ ...git.commandLine(args), folder: spec.folder });
    const exited = waitForProgramEnd(child);
    using until = killProcessGroupOnAbort(child, [limited.signal, enough.signal]);
    child.stdin.end();
    child.stderr.on("data", (piece: Buffer) => {
      stderrTail = (stderrTail + piece.toString()).slice(-500);
    });
    // No `await` between the start of git and this loop: Node discards the unread output of a program that has ended.
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) enough.abort();
      if (enough.signal.aborted) break;
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    await file.sync();
    end = until.judge(await exited);
  }
  if (enough.signal.aborted) stderrTail = "the bundle of the commits is larger than 4 GiB";
  else if (end.kind !== "deadline")
    requireExitCode("git bundle", { end, isOutOfMemory: (await countOomKills()) > memoryKills });
  if (end.kind !== "exited" || end.code !== 0 || bytes === 0)
    throw new GitFailure(["bundle"], { end, stderr: stderrTail });
  await rename(draft, path);
  undo.move();
  await syncFolder(folder);
  return { commit, bundle: path, bytes, sha256: hash.digest("hex") };
}
