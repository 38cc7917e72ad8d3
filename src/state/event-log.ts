import { constants } from "node:fs";
import { type FileHandle, mkdir, open, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { eventLine } from "../domain/event-line.ts";
import type { EventLog, EventToKeep } from "../ports/event-log.ts";
import { eventReader, keptFiles } from "./read-events.ts";

export interface EventLogOptions {
  /** `.aimi`. Whoever gives it has looked where it leads. */
  readonly folder: string;
  /** Of the events that are added; without it, an event says its own. */
  readonly swarmId?: string;
  readonly clock: () => Date;
  /** Told when events cannot be written, once until they can be again. What was added is kept meanwhile, as far as there is room. */
  readonly onFailure?: (error: unknown) => void;
  /** How large a file may become before the next one is begun. */
  readonly fileBytes?: number;
}

interface Opened {
  readonly handle: FileHandle;
  readonly identity: string;
  size: number;
  /** A writer was killed in the middle of its last line. */
  isTorn: boolean;
}

const usualFileBytes = 8 * 1024 ** 2;
const mostWaiting = 5_000;
const batchLines = 100;
const lineBreak = 0x0a;
const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;

/** The log of a worktree's events, for the one process that adds to it. Nothing is opened before the first event. */
export function eventLog({
  folder,
  swarmId,
  clock,
  onFailure = () => {},
  fileBytes = usualFileBytes,
}: EventLogOptions): EventLog {
  const files = keptFiles.map((name) => join(folder, name));
  const [file = "", ...older] = files;
  const waiting: string[] = [];
  let lost = 0;
  let writing: Promise<void> | null = null;
  let opened: Opened | null = null;
  let isFailing = false;
  let isClosed = false;

  const lineOf = (event: EventToKeep): string =>
    eventLine(event, { at: clock().toISOString(), swarmId: swarmId ?? null });

  const write = async (): Promise<void> => {
    // In a later turn: what is told together is written together.
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
      // Only what is whole is there; a line that was begun is ended as a torn one, and comes again.
      waiting.unshift(...batch.slice(countLines(bytes.subarray(0, done))));
    }
  }

  async function append(target: Opened, bytes: Uint8Array): Promise<number> {
    const { bytesWritten } = await target.handle.write(bytes);
    target.size += bytesWritten;
    return bytesWritten;
  }

  /** The file of the path, whatever became of it: somebody may have cleaned the folder. */
  async function openFor(bytes: number): Promise<Opened> {
    if (opened && (await identityAt(file)) !== opened.identity) await close();
    opened ??= await openFile(folder, file);
    if (opened.size > 0 && opened.size + bytes > fileBytes) {
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
      // While nothing can be written, the newest tell more than the oldest.
      if (waiting.length > mostWaiting) lost += waiting.splice(0, batchLines).length;
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

/** Neither a link that leads elsewhere is followed, nor a pipe waited for. */
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
