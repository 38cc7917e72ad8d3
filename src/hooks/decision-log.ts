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
const mostBytes = 1024 * 1024;
const mostShown = 300;

/**
 * Writes down what was decided about a command, for whoever wonders why it was approved or not. It is said already: whatever
 * is wrong with the log, nothing waits for it and nobody is told.
 */
export function logDecision(
  stateFolder: string,
  { decision, why, command }: CommandAnswer & { readonly command: string },
  now: Date,
): void {
  try {
    const file = join(stateFolder, "hook.ndjson");
    makeFolder(stateFolder);
    // Without waiting: what lies there might be a pipe that nobody reads.
    const handle = openSync(file, O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_WRONLY, 0o600);
    try {
      const shown = command.slice(0, mostShown);
      writeSync(handle, `${JSON.stringify({ at: now.toISOString(), decision, why, command: shown })}\n`);
      if (fstatSync(handle).size > mostBytes) renameSync(file, `${file}.1`);
    } finally {
      closeSync(handle);
    }
  } catch {
    // See above.
  }
}

/** Level by level: where nothing can be made, as in `/proc`, Node's own way tries for ever. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  if (folder !== dirname(folder)) makeFolder(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}
