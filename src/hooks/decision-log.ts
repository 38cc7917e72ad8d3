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
import type { CommandAnswer } from "./pre-tool-use.ts";

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
const maxBytes = 1024 * 1024;
const maxShown = 300;

/**
 * Logs the decision about a command, so that the user can find out why it was approved or not. The decision has been
 * printed already, so errors of the log are ignored.
 */
export function logDecision(
  stateFolder: string,
  { decision, why, command }: CommandAnswer & { readonly command: string },
  now: Date,
): void {
  try {
    const file = join(stateFolder, "hook.ndjson");
    makeFolder(stateFolder);
    // O_NONBLOCK: the path may be a pipe without a reader, on which `open` would block.
    const handle = openSync(file, O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_WRONLY, 0o600);
    try {
      const shown = command.slice(0, maxShown);
      writeSync(handle, `${JSON.stringify({ at: now.toISOString(), decision, why, command: shown })}\n`);
      if (fstatSync(handle).size > maxBytes) renameSync(file, `${file}.1`);
    } finally {
      closeSync(handle);
    }
  } catch {
    // Ignored, see above.
  }
}

/** Creates folders level by level: in `/proc`, Node's recursive `mkdir` never returns. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  if (folder !== dirname(folder)) makeFolder(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}
