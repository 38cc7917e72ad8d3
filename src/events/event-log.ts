import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { EventLog, EventToLog } from "./event-log-port.ts";
import { eventLogFileNames, eventReader } from "./event-reader.ts";
import { eventLine } from "./rules/event-line.ts";

export interface EventLogOptions {
  /**
   * The path of the `.aimi` folder. The caller must check that no symbolic link in this path leads out of the
   * repository.
   */
  readonly folder: string;
  /**
   * The ID of the swarm to which all added events belong. Without this option, the log takes the swarm ID
   * from the event itself.
   */
  readonly swarmId?: string;
  readonly clock: () => Date;
  /**
   * Called at the first failed write, but not for the failures that follow it. Until a write succeeds again,
   * the log keeps new events in memory, up to a limit.
   */
  readonly onFailure?: (error: unknown) => void;
  /** The maximum size of the log file in bytes; then the log files are rotated. */
  readonly maxFileBytes?: number;
}

interface Opened {
  readonly handle: FileHandle;
  readonly identity: string;
  size: number;
  /** Whether the last line of the log file is incomplete, because the process that wrote it was killed. */
  isTorn: boolean;
}

const usualFileBytes = 8 * 1024 ** 2;
const maxWaiting = 5_000;
const batchLines = 100;
const lineBreak = 0x0a;
const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;

/**
 * Creates the event log of a worktree. Only one process may write to a log at a time. The log file is opened
 * when the first event is added.
 */
export function eventLog({
  folder,
  swarmId,
  clock,
  onFailure = () => {},
  maxFileBytes = usualFileBytes,
}: EventLogOptions): EventLog {
  const files = eventLogFileNames.map((name) => join(folder, name));
  const [file = "", ...older] = files;
  const waiting: string[] = [];
  let lost = 0;
  let writing: Promise<void> | null = null;
  let opened: Opened | null = null;
  let isFailing = false;
  let isClosed = false;

  const lineOf = (event: EventToLog): string =>
    eventLine(event, { at: clock().toISOString(), swarmId: swarmId ?? null });

  const write = async (): Promise<void> => {
    // Write in a later turn of the event loop, so that events added together form one batch.
    await setImmediate();
    try {
      while (waiting.length > 0) await writeBatch();
      isFailing = false;
    } catch (error) {
      await close();
      if (!isFailing) onFailure(error);
      isFailing = true;
    }
    writing = null;
  };

  const start = (): void => {
    if (waiting.length > 0) writing ??= write();
  };

  async function writeBatch(): Promise<void> {
    if (lost > 0) waiting.unshift(lineOf({ event: "lost", events: lost }));
    lost = 0;
    const batch = waiting.splice(0, batchLines);
    const bytes = Buffer.from(batch.join(""));
    let done = 0;
    try {
      const target = await openFor(bytes.length);
      if (target.isTorn) await append(target, Buffer.from("\n"));
      target.isTorn = false;
      while (done < bytes.length) done += await append(target, bytes.subarray(done));
    } finally {
      // Queue the lines again that are not complete in the file. A partly written line remains there as an
      // incomplete one.
      waiting.unshift(...batch.slice(countLines(bytes.subarray(0, done))));
    }
  }

  async function append(target: Opened, bytes: Uint8Array): Promise<number> {
    const { bytesWritten } = await target.handle.write(bytes);
    target.size += bytesWritten;
    return bytesWritten;
  }

  /**
   * Returns the open log file, after a rotation if `bytes` more bytes would exceed the maximum size. Opens
   * the log file again if another program has replaced or removed it.
   */
  async function openFor(bytes: number): Promise<Opened> {
    if (opened && (await identityAt(file)) !== opened.identity) await close();
    opened ??= await openFile(folder, file);
    if (opened.size > 0 && opened.size + bytes > maxFileBytes) {
      await close();
      for (const [index, target] of [...older.entries()].reverse())
        await rename(files[index] ?? "", target).catch(forgiveMissing);
      opened = await openFile(folder, file);
    }
    return opened;
  }

  async function close(): Promise<void> {
    const closing = opened;
    opened = null;
    await closing?.handle.close().catch(() => undefined);
  }

  const flush = async (): Promise<void> => {
    start();
    await writing;
  };

  return {
    ...eventReader(folder),

    add(event) {
      if (isClosed) return;
      waiting.push(lineOf(event));
      // If the queue is full, drop the oldest events: the newest say more.
      if (waiting.length > maxWaiting) lost += waiting.splice(0, batchLines).length;
      start();
    },

    flush,

    async [Symbol.asyncDispose]() {
      isClosed = true;
      await flush();
      await close();
    },
  };
}

/** Opens the log file. Fails if the path is a symbolic link, and does not block if it is a FIFO. */
async function openFile(folder: string, file: string): Promise<Opened> {
  await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  await using undo = new AsyncDisposableStack();
  const handle = undo.use(await open(file, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o644));
  const stats = await handle.stat();
  if (!stats.isFile()) throw new Error(`${file} is not a regular file`);
  const last = Buffer.alloc(1);
  if (stats.size > 0) await handle.read(last, 0, 1, stats.size - 1);
  undo.move();
  return {
    handle,
    identity: `${stats.dev} ${stats.ino}`,
    size: stats.size,
    isTorn: stats.size > 0 && last[0] !== lineBreak,
  };
}

async function identityAt(file: string): Promise<string | null> {
  return stat(file).then(
    ({ dev, ino }) => `${dev} ${ino}`,
    () => null,
  );
}

function countLines(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(lineBreak); at >= 0; at = bytes.indexOf(lineBreak, at + 1)) count += 1;
  return count;
}

function forgiveMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}
