import { watch } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname } from "node:path";

const lookEveryMs = 1_000;

/**
 * Calls `onChange` once if the file exists, and then at each change of the file, until the signal is aborted.
 * Watches the file's folder, because each write replaces the file, and also polls every second, because file
 * watches may miss changes.
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
    // If the folder is removed, the watch ends and only the timer keeps polling.
    watcher.on("error", () => watcher.close());
  } catch {
    // Some filesystems have no watches. The timer works without them.
  }
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}
