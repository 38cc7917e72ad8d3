import { watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";

const lookEveryMs = 1_000;

/**
 * Calls back at once and whenever the state file, or another, may have changed, until the signal is aborted. The folder is watched, since
 * each write replaces the state file; and it is looked at each second, since watches are only hints.
 */
export function watchState(file: string, onChange: () => void, signal: AbortSignal): void {
  if (signal.aborted) return;
  let last = "";
  const look = async (): Promise<void> => {
    const stats = await stat(file, { bigint: true }).catch(() => null);
    const identity = stats ? `${stats.ino} ${stats.mtimeNs} ${stats.size}` : "";
    if (identity !== last && !signal.aborted) {
      last = identity;
      onChange();
    }
  };
  void look();
  const timer = setInterval(() => void look(), lookEveryMs);
  try {
    const watcher = watch(dirname(file), { signal }, (_event, name) => {
      if (name === basename(file)) void look();
    });
    // A folder that disappears ends the watch; the timer goes on looking.
    watcher.on("error", () => watcher.close());
  } catch {
    // Some filesystems know no watches; the timer does without.
  }
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}
