import { sanitizeText } from "../text/sanitize-text.ts";
import { findSwarm } from "./find-swarm.ts";
import { formatStatusLine } from "./rules/status-texts.ts";

const wrappedLimitMs = 2_000;

/**
 * Renders a swarm's line for Claude Code's status line, only from the state file; without a swarm, an empty
 * text. `wrapped` is the shell command of the user's other status line, whose output comes first.
 */
export async function renderStatusLine(
  input: string,
  { folder, wrapped }: { readonly folder: string; readonly wrapped: string | null },
): Promise<string> {
  const found = findSwarm(folderIn(input) ?? folder);
  const ours = found && found.swarm.containers.length > 0 ? formatStatusLine(found.swarm, found) : "";
  if (wrapped === null) return ours;
  // Loads `child_process` only here, because it takes as long to load as all other modules together.
  const { spawnSync } = await import("node:child_process");
  const options = { input, encoding: "utf8", timeout: wrappedLimitMs, killSignal: "SIGKILL" } as const;
  const { stdout, signal } = spawnSync("/bin/sh", ["-c", wrapped], {
    ...options,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const theirs = signal === null ? (stdout ?? "").trimEnd() : "";
  return [theirs, ours].filter(Boolean).join(" | ");
}

/**
 * Returns the folder of the Claude Code session, which Claude Code passes in the JSON input to a status line
 * command.
 */
function folderIn(input: string): string | null {
  try {
    const { workspace, cwd } = JSON.parse(input);
    const folder = workspace?.project_dir ?? cwd;
    return typeof folder === "string" && folder.startsWith("/") && sanitizeText(folder) === folder
      ? folder
      : null;
  } catch {
    return null;
  }
}
