import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { ifMissing, ifSystemError } from "../errors/system-errors.ts";
import { lineEndsIn } from "../wire/line-splitter.ts";
import { eventLogFileNames } from "./event-reader.ts";
import { type EventToLog, eventLine } from "./rules/event-line.ts";

/**
 * The log `.aimi/events.ndjson` with the events of one worktree's swarms. Disposing flushes and closes the
 * file.
 */
export interface EventLog extends AsyncDisposable {
  /**
   * Queues an event for writing to the log file, in the order of the calls. Returns at once and never throws.
   */
  add(event: EventToLog): void;
  /** Resolves when every queued event has been written to the log file or has failed to be written. */
  flush(): Promise<void>;
}

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
  const files = rotatedFiles(folder, maxFileBytes);
  const waiting: string[] = [];
  let lost = 0;
  let writing: Promise<void> | null = null;
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
      await files.close();
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
      const target = await files.openFor(bytes.length);
      if (target.isTorn) await append(target, Buffer.from("\n"));
      target.isTorn = false;
      while (done < bytes.length) done += await append(target, bytes.subarray(done));
    } finally {
      // Queue the lines again that are not complete in the file. A partly written line remains there as an
      // incomplete one.
      waiting.unshift(...batch.slice([...lineEndsIn(bytes.subarray(0, done))].length));
    }
  }

  const flush = async (): Promise<void> => {
    start();
    await writing;
  };

  return {
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
      await files.close();
    },
  };
}

/** Gives access to the log file that is written now, which becomes an older log file when it is full. */
function rotatedFiles(folder: string, maxFileBytes: number) {
  const files = eventLogFileNames.map((name) => join(folder, name));
  const [file = "", ...older] = files;
  let opened: Opened | null = null;

  const close = async (): Promise<void> => {
    const closing = opened;
    opened = null;
    await closing?.handle.close().catch(() => undefined);
  };

  return {
    close,
    /**
     * Returns the open log file, after a rotation if `bytes` more bytes would exceed the maximum size. Opens
     * the log file again if another program has replaced or removed it.
     */
    async openFor(bytes: number): Promise<Opened> {
      if (opened && (await identityAt(file)) !== opened.identity) await close();
      opened ??= await openFile(folder, file);
      if (opened.size > 0 && opened.size + bytes > maxFileBytes) {
        await close();
        for (const [index, target] of [...older.entries()].reverse())
          await rename(files[index] ?? "", target).catch(ifMissing(undefined));
        opened = await openFile(folder, file);
      }
      return opened;
    },
  };
}

async function append(target: Opened, bytes: Uint8Array): Promise<number> {
  const { bytesWritten } = await target.handle.write(bytes);
  target.size += bytesWritten;
  return bytesWritten;
}

/** Opens the log file. Fails if the path is a symbolic link, and does not block if it is a FIFO. */
async function openFile(folder: string, file: string): Promise<Opened> {
  await mkdir(folder).catch(ifSystemError(undefined, "EEXIST"));
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
