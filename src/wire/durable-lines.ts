import { EventEmitter, once } from "node:events";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { ifMissing, isSystemError } from "../errors/system-errors.ts";
import { syncFolder } from "../machine/durable-write.ts";
import { lineEndsIn } from "./line-splitter.ts";

/**
 * An append-only file of lines. Each line is flushed to disk before `add` resolves and before `count`
 * includes it.
 */
export interface DurableLines extends AsyncDisposable {
  /** The number of lines that are on disk. */
  readonly count: number;
  /** The total size in bytes of the lines that are on disk. */
  readonly size: number;
  /**
   * Adds lines to the file. Resolves when they are on disk. Lines that are added during a write are written
   * together in the next write.
   */
  add(...lines: readonly string[]): Promise<void>;
  /** Resolves when the file has more than `count` lines, or when the signal is aborted. */
  waitForLinesAfter(count: number, signal: AbortSignal): Promise<void>;
}

/** Lines that are written together, with one write and one flush to disk. */
interface Batch extends PromiseWithResolvers<void> {
  text: string;
  lines: number;
}

/** The length in characters from which a batch is full and accepts no more lines. */
const fullBatch = 1 << 20;

/**
 * Opens or creates the file. Removes an incomplete last line, which an interrupted write left. At the first
 * write that fails because the disk is full, calls `freeSpace` and retries the write.
 */
export async function openDurableLines(
  file: string,
  { freeSpace }: { freeSpace?: () => Promise<void> } = {},
): Promise<DurableLines> {
  const handle = await openOrMake(file);
  let { count, size } = await cutTornLine(handle);
  let waiting: Batch[] = [];
  let writing: Promise<void> | null = null;
  let freeSpaceOnce = freeSpace;
  let broken: unknown = null;
  // Any number of readers may wait for new lines.
  const growth = new EventEmitter().setMaxListeners(0);

  async function writeWaiting(): Promise<void> {
    for (let batch = waiting.shift(); batch; batch = waiting.shift()) {
      try {
        await writeDurably(Buffer.from(batch.text));
      } catch (error) {
        // Write nothing more: a later batch would leave a gap in the lines.
        broken = error;
        for (const { reject } of [batch, ...waiting]) reject(error);
        waiting = [];
        break;
      }
      count += batch.lines;
      batch.resolve();
      growth.emit("lines");
    }
    writing = null;
  }

  function openBatch(): Batch {
    const last = waiting.at(-1);
    if (last && last.text.length < fullBatch) return last;
    const batch = { ...Promise.withResolvers<void>(), text: "", lines: 0 };
    waiting.push(batch);
    return batch;
  }

  async function writeDurably(bytes: Buffer): Promise<void> {
    try {
      await writeAll(handle, bytes, size);
      await handle.datasync();
    } catch (error) {
      await handle.truncate(size).catch(() => undefined);
      const retry = freeSpaceOnce;
      freeSpaceOnce = undefined;
      if (!retry || !isSystemError(error, "ENOSPC", "EDQUOT")) throw error;
      await retry();
      return writeDurably(bytes);
    }
    size += bytes.length;
  }

  return {
    get count() {
      return count;
    },
    get size() {
      return size;
    },
    add(...lines) {
      if (broken !== null) return Promise.reject(broken);
      const batch = openBatch();
      for (const line of lines) batch.text += `${line}\n`;
      batch.lines += lines.length;
      writing ??= writeWaiting();
      return batch.promise;
    },
    async waitForLinesAfter(known, signal) {
      if (count > known || signal.aborted) return;
      await once(growth, "lines", { signal }).catch(() => undefined);
    },
    async [Symbol.asyncDispose]() {
      await writing;
      await handle.close();
    },
  };
}

async function openOrMake(file: string): Promise<FileHandle> {
  const present = await open(file, "r+").catch(ifMissing(null));
  if (present) return present;
  const handle = await open(file, "wx+", 0o600);
  await syncFolder(dirname(file));
  return handle;
}

/** Counts the complete lines of the file, and removes everything after the last one. */
async function cutTornLine(handle: FileHandle): Promise<{ count: number; size: number }> {
  const chunk = Buffer.alloc(1 << 18);
  let count = 0;
  let size = 0;
  for (let position = 0; ; ) {
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, position);
    if (bytesRead === 0) break;
    for (const end of lineEndsIn(chunk.subarray(0, bytesRead))) {
      count += 1;
      size = position + end;
    }
    position += bytesRead;
  }
  await handle.truncate(size);
  return { count, size };
}

async function writeAll(handle: FileHandle, bytes: Buffer, from: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, from + done);
    done += bytesWritten;
  }
}
