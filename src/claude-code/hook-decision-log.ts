import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { HookCommandAnswer } from "./decide-tool-call.ts";

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
const maxBytes = 1024 * 1024;
const maxShown = 300;

/**
 * Appends the decision of swarm's Claude Code hook about a command, with the reason, to a log for the user.
 * Ignores errors, because the hook has already printed the decision.
 */
export function logHookDecision(
  stateFolder: string,
  { decision, why, command }: HookCommandAnswer & { readonly command: string },
  now: Date,
): void {
  try {
    const file = join(stateFolder, "hook.ndjson");
    makeFolder(stateFolder);
    // The path may be a named pipe without a reader. O_NONBLOCK prevents `open` from blocking then.
    const handle = openSync(file, O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_WRONLY, 0o600);
    try {
      const shown = command.slice(0, maxShown);
      writeSync(handle, `${JSON.stringify({ at: now.toISOString(), decision, why, command: shown })}\n`);
      if (fstatSync(handle).size > maxBytes) renameSync(file, `${file}.1`);
    } finally {
      closeSync(handle);
    }
  } catch {
    // Without the log the decision still counts, so a failure is ignored.
  }
}

/**
 * Creates a folder and its missing parent folders, one level at a time. Node's recursive `mkdir` would never
 * return in `/proc`.
 */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  if (folder !== dirname(folder)) makeFolder(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}
