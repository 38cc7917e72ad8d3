import { cleanText } from "../domain/clean-text.ts";
import { swarmLine } from "../domain/swarm-line.ts";
import { findSwarm } from "./find-swarm.ts";

const wrappedLimitMs = 2_000;

/**
 * A line for Claude Code's status line, from the state file only; empty without a swarm. With `wrapped`, the output of
 * another status line's command comes first. That command is a shell line, as in Claude Code's settings, and gets the
 * same input.
 */
export async function statusLine(
  input: string,
  { folder, wrapped }: { readonly folder: string; readonly wrapped: string | null },
): Promise<string> {
  const found = findSwarm(folderIn(input) ?? folder);
  const ours = found && found.swarm.containers.length > 0 ? swarmLine(found.swarm, found) : "";
  if (wrapped === null) return ours;
  // Loaded only here, because it takes as long to load as all the rest.
  const { spawnSync } = await import("node:child_process");
  const options = { input, encoding: "utf8", timeout: wrappedLimitMs, killSignal: "SIGKILL" } as const;
  const { stdout, signal } = spawnSync("/bin/sh", ["-c", wrapped], {
    ...options,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const theirs = signal === null ? (stdout ?? "").trimEnd() : "";
  return [theirs, ours].filter(Boolean).join(" | ");
}

/** The folder of Claude Code's session, from the input to its status line. */
function folderIn(input: string): string | null {
  try {
    const { workspace, cwd } = JSON.parse(input);
    const folder = workspace?.project_dir ?? cwd;
    return typeof folder === "string" && folder.startsWith("/") && cleanText(folder) === folder
      ? folder
      : null;
  } catch {
    return null;
  }
}
