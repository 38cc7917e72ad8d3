import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SwarmState } from "../contract/swarm-state.ts";
import type { LabelledContainer } from "../engine/engine.ts";
import { findKernelLockHolder } from "../machine/locks/lock-holder.ts";
import { readSmallFile } from "../machine/read-small-file.ts";
import type { EnvironmentVariables } from "../machine/user-folders.ts";
import validate from "../schema/generated/swarm-state.js";
import { readDependsOn } from "../schema/read-depends-on.ts";
import { swarmExitCode } from "../state/rules/swarm-exit.ts";
import { engineNeed } from "../state/rules/swarm-status.ts";
import { statusDocument, statusLines, suggestNextCommand } from "./render/status-lines.ts";
import { toJson, toJsonLine } from "./render/to-json.ts";

const localPrefix = "unix://";

/** Lists a project's containers in the engine at a socket; returns null if the engine gives no valid answer. */
export type ListContainersOfProject = (
  socket: string,
  projectId: string,
) => Promise<readonly LabelledContainer[] | null>;

/**
 * Tries to print the output of `swarm status` without loading npm packages, because users wait for this
 * command at each shell prompt. Works only under these conditions, and otherwise returns false:
 * - the repository is no linked worktree or submodule, the state is valid, and its project ID matches
 * - the engine is local and its containers agree with the state, if the status depends on containers
 */
export async function printQuickStatus(
  words: readonly string[],
  env: EnvironmentVariables,
  listContainers: ListContainersOfProject,
): Promise<boolean> {
  const [command = "status", ...flags] = words;
  if (command !== "status" || !flags.every((flag) => flag === "--json" || flag === "--exit-status"))
    return false;
  if ((env["SWARM_PROGRESS"] ?? "auto") !== "auto" || (env["SWARM_LOCK"] || "kernel") !== "kernel")
    return false;

  const good = readGoodState();
  if (!good) return false;
  const { swarm, root } = good;
  const owner = findKernelLockHolder(join(root, ".git", "aimi", "owner.lock"));
  if (owner === undefined || !(await agrees(swarm, owner !== null, listContainers))) return false;

  const status = { swarm, reconciled: true, corrections: [], orphans: [], owner };
  const isJson = flags.includes("--json");
  const dependsOn = ({ taskFilePath }: { readonly taskFilePath: string }): readonly string[] =>
    readDependsOn(join(root, taskFilePath));
  process.stdout.write(
    isJson
      ? `${env["CLAUDECODE"] ? toJsonLine(statusDocument(status)) : toJson(statusDocument(status))}\n`
      : `${statusLines(status, { now: new Date(), dependsOn }).join("\n")}\n`,
  );
  if (!isJson || env["CLAUDECODE"]) process.stderr.write(`next: ${suggestNextCommand(status)}\n`);
  if (flags.includes("--exit-status")) process.exitCode = swarmExitCode(swarm);
  return true;
}

/**
 * Returns whether the stored state agrees with the engine's containers, so that `swarm status` has no
 * corrections to print.
 */
async function agrees(
  swarm: SwarmState,
  ownerAlive: boolean,
  listContainers: ListContainersOfProject,
): Promise<boolean> {
  const role = engineNeed(swarm);
  if (role === "none") return true;
  if (!swarm.engine?.endpoint.startsWith(localPrefix)) return false;
  // Imports the comparison only here, because most calls have nothing to compare.
  const { compareRecordsWithContainers, areContainersOnRecordedEngine, comparisonNeedsJournal } =
    await import("../state/compare-records.ts");
  const isCompleted = ({ status }: { readonly status: string }): boolean => status === "completed";
  if (!swarm.containers.every((record) => isCompleted(record) || !comparisonNeedsJournal(record)))
    return false;

  const containers = await listContainers(swarm.engine.endpoint.slice(localPrefix.length), swarm.project.id);
  if (containers === null) return role === "optional";
  if (containers.length === 0) return role === "optional";
  if (!areContainersOnRecordedEngine(swarm, containers)) return false;
  const { corrections, orphans } = compareRecordsWithContainers(swarm, containers, {
    ownerAlive,
    volumes: [],
    // Only completed workers need a checkpoint here, and their work was collected. So the collected commit is
    // their last checkpoint.
    lastCheckpointOf: ({ collected }) => collected?.commit ?? null,
  });
  return corrections.length === 0 && orphans.length === 0;
}

const [maxStateBytes, maxNoteBytes] = [16 * 1024 * 1024, 16 * 1024];

function readGoodState(): { readonly swarm: SwarmState; readonly root: string } | null {
  try {
    const root = findRoot(process.cwd());
    const identity = readSmallFile(join(root, ".git", "aimi", "id"), maxNoteBytes) ?? "null";
    const { id, commonFolder, machine } = JSON.parse(identity);
    const fits =
      commonFolder === join(root, ".git") && machine === readFileSync("/etc/machine-id", "utf8").trim();
    const file = join(root, ".aimi", "swarm-state.json");
    const state: unknown = JSON.parse(readSmallFile(file, maxStateBytes) ?? "null");
    return fits && validate(state) && (state as SwarmState).project.id === id
      ? { swarm: state as SwarmState, root }
      : null;
  } catch {
    // Ignores the error, because the whole program meets the same error and reports it.
    return null;
  }
}

function findRoot(folder: string): string {
  for (let root = folder; ; root = dirname(root)) {
    const gitFolder = join(root, ".git");
    if (existsSync(join(gitFolder, "HEAD"))) return root;
    // A `.git` file marks a linked worktree or a submodule. The whole program handles them.
    if (existsSync(gitFolder) && !statSync(gitFolder).isDirectory())
      throw new Error("the repository is a linked worktree or a submodule");
    if (root === dirname(root)) throw new Error("the folder is not in a git repository");
  }
}
