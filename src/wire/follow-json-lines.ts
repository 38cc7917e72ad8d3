import { type FSWatcher, watch } from "node:fs";
import { openRegularFile } from "./open-regular-file.ts";
import { parseJsonLine } from "./text-lines.ts";

/** Reads the lines of JSON that another process appends to a file, and parses them. */
export interface JsonLineFollower {
  /**
   * Yields the values of the lines that were completed since the last call. Skips a line that is not JSON or
   * is longer than `maxLineLength`.
   */
  readNewLines(): AsyncGenerator<unknown>;
}

const lineBreak = 0x0a;

/**
 * Creates a reader for a file that need not exist yet. It begins at the start of the file, and begins there
 * again if the file is emptied or replaced.
 */
export function followJsonLines(
  file: string,
  { maxLineLength }: { readonly maxLineLength: number },
): JsonLineFollower {
  // Each read starts after the last complete line, so a line of the maximum length always fits into this
  // buffer.
  const chunk = Buffer.allocUnsafeSlow(maxLineLength);
  let identity = "";
  let position = 0;
  let isTooLong = false;

  return {
    async *readNewLines() {
      await using handle = await openRegularFile(file);
      if (handle === null) return;
      const { dev, ino, size } = await handle.stat();
      if (`${dev} ${ino}` !== identity || size < position) {
        position = 0;
        isTooLong = false;
      }
      identity = `${dev} ${ino}`;
      for (;;) {
        const { bytesRead } = await handle.read(chunk, 0, chunk.length, position);
        const bytes = chunk.subarray(0, bytesRead);
        const end = bytes.lastIndexOf(lineBreak) + 1;
        if (end === 0 && bytesRead < chunk.length) return;
        position += end === 0 ? bytesRead : end;
        const lines = bytes.subarray(0, end).toString().split("\n").slice(0, -1);
        for (const line of isTooLong && end > 0 ? lines.slice(1) : lines) yield* parseJsonLine(line);
        isTooLong = end === 0;
      }
    },
  };
}

/** Wakes a waiting loop when a folder changes. */
export interface FolderChanges extends Disposable {
  notify(): void;
  /**
   * Resolves at the next notification, or at once if a notification has arrived since the last wait. Also
   * resolves when the signal is aborted.
   */
  wait(): Promise<void>;
}

/**
 * Creates a `FolderChanges` that notifies at each change in the folder, which need not exist yet. It also
 * notifies every `everyMs` milliseconds, because file watches may miss changes.
 */
export function watchFolderForChanges(
  folder: string,
  { everyMs }: { readonly everyMs: number },
  signal: AbortSignal,
): FolderChanges {
  let signalled = Promise.withResolvers<void>();
  const notify = (): void => signalled.resolve();
  let watcher: FSWatcher | null = null;
  const tryWatch = (): void => {
    if (watcher !== null) return;
    try {
      watcher = watch(folder, { persistent: false }, notify);
      watcher.on("error", () => {
        watcher?.close();
        watcher = null;
      });
    } catch {
      // The folder does not exist yet, or its filesystem has no watches.
    }
  };
  tryWatch();
  const timer = setInterval(() => {
    tryWatch();
    notify();
  }, everyMs);
  signal.addEventListener("abort", notify, { once: true });
  return {
    notify,
    async wait() {
      if (signal.aborted) return;
      await signalled.promise;
      signalled = Promise.withResolvers();
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      watcher?.close();
      signal.removeEventListener("abort", notify);
      notify();
    },
  };
}
