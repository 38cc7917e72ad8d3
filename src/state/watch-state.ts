import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { watchFolderForChanges } from "../wire/follow-json-lines.ts";

const lookEveryMs = 1_000;

/**
 * Calls `onChange` once if the file exists, and then at each change of the file, until the signal is aborted.
 * Watches the file's folder, because each write replaces the file, and also polls every second, because file
 * watches may miss changes.
 */
export function watchState(file: string, onChange: () => void, signal: AbortSignal): void {
  void watchUntilAborted(file, onChange, signal);
}

async function watchUntilAborted(file: string, onChange: () => void, signal: AbortSignal): Promise<void> {
  let last = "";
  using changes = watchFolderForChanges(dirname(file), { everyMs: lookEveryMs }, signal);
  while (!signal.aborted) {
    const stats = await stat(file, { bigint: true }).catch(() => null);
    const identity = stats ? `${stats.ino} ${stats.mtimeNs} ${stats.size}` : "";
    if (identity !== last && !signal.aborted) onChange();
    last = identity;
    await changes.wait();
  }
}
