import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { statusLines, statusNext } from "./cli/status-lines.ts";
import { toJson } from "./cli/to-json.ts";
import type { SwarmState } from "./domain/generated/swarm-state.ts";
import validate from "./schema/generated/swarm-state.js";

/**
 * `swarm status` where everything is as it should be: a plain repository, a valid state, an identity that fits. Says
 * nothing and returns false for everything else, which the whole program then looks at with care. Synchronous and
 * without packages, since it is asked between two keystrokes.
 */
export function quickStatus(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const isPlain = words.length <= 1 && (words[0] ?? "status") === "status";
  const isJson = words.length === 2 && words[0] === "status" && words[1] === "--json";
  if (!(isPlain || isJson) || (env["SWARM_PROGRESS"] ?? "auto") !== "auto") return false;

  const state = readGoodState();
  if (!state) return false;
  process.stdout.write(isJson ? `${toJson({ swarm: state })}\n` : `${statusLines(state).join("\n")}\n`);
  if (isPlain) process.stderr.write(`next: ${statusNext}\n`);
  return true;
}

function readGoodState(): SwarmState | null {
  try {
    const root = findRoot(process.cwd());
    const { id, commonFolder, machine } = JSON.parse(readFileSync(join(root, ".git", "aimi", "id"), "utf8"));
    const fits =
      commonFolder === join(root, ".git") && machine === readFileSync("/etc/machine-id", "utf8").trim();
    const file = join(root, ".aimi", "swarm-state.json");
    const state: unknown = statSync(file).isFile() && JSON.parse(readFileSync(file, "utf8"));
    return fits && validate(state) && (state as SwarmState).project.id === id ? (state as SwarmState) : null;
  } catch {
    // Whatever it is, the whole program finds it again and says it properly.
    return null;
  }
}

function findRoot(folder: string): string {
  for (let root = folder; ; root = dirname(root)) {
    const gitFolder = join(root, ".git");
    if (existsSync(join(gitFolder, "HEAD"))) return root;
    // A linked worktree or a submodule is a repository of its own, and none that is plain.
    if (existsSync(gitFolder) && !statSync(gitFolder).isDirectory())
      throw new Error("not a plain repository");
    if (root === dirname(root)) throw new Error("not in a repository");
  }
}
