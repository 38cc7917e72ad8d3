import { type FSWatcher, watch } from "node:fs";
import { openIfFile } from "./open-if-file.ts";

/** The lines of a file that somebody else writes on, as JSON values. */
export interface GrowingLines {
  /**
   * Those that were not read yet, up to the end of the last whole one. What has no line break yet is being written, or will
   * never be; a line that is no JSON, or longer than `longestLine`, is left out.
   */
  news(): AsyncGenerator<unknown>;
}

const lineBreak = 0x0a;

/** Reads from the beginning; the file need not be there yet. One that was emptied or replaced is read anew. */
export function growingLines(file: string, { longestLine }: { readonly longestLine: number }): GrowingLines {
  // With room for the longest line behind whatever comes before it.
  const chunk = Buffer.allocUnsafeSlow(longestLine);
  let identity = "";
  let position = 0;
  let isTooLong = false;

  return {
    async *news() {
      await using handle = await openIfFile(file);
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
        yield* valuesOf(isTooLong && end > 0 ? lines.slice(1) : lines);
        isTooLong = end === 0;
      }
    },
  };
}

function* valuesOf(lines: readonly string[]): Generator<unknown> {
  for (const line of lines) {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      continue;
    }
    yield value;
  }
}

/** Tells that something in a folder may have changed. */
export interface FolderBell extends Disposable {
  ring(): void;
  /** Resolves when it rang since the last time, or with the signal. */
  rung(): Promise<void>;
}

/** Rings at changes, and every `everyMs`, since watches are only hints; the folder need not be there yet. */
export function folderBell(
  folder: string,
  { everyMs }: { readonly everyMs: number },
  signal: AbortSignal,
): FolderBell {
  let ringing = Promise.withResolvers<void>();
  const ring = (): void => ringing.resolve();
  let watcher: FSWatcher | null = null;
  const tryWatch = (): void => {
    if (watcher !== null) return;
    try {
      watcher = watch(folder, { persistent: false }, ring);
      watcher.on("error", () => {
        watcher?.close();
        watcher = null;
      });
    } catch {
      // It is not there yet, or its filesystem knows no watches.
    }
  };
  tryWatch();
  const timer = setInterval(() => {
    tryWatch();
    ring();
  }, everyMs);
  signal.addEventListener("abort", ring, { once: true });
  return {
    ring,
    async rung() {
      if (signal.aborted) return;
      await ringing.promise;
      ringing = Promise.withResolvers();
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      watcher?.close();
      signal.removeEventListener("abort", ring);
      ring();
    },
  };
}
