import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { KeptEvent } from "../contract/event.ts";
import { watchFolderForChanges } from "../wire/follow-json-lines.ts";
import { LineSplitter } from "../wire/line-splitter.ts";
import { openRegularFile } from "../wire/open-regular-file.ts";
import { parseJsonLine } from "../wire/text-lines.ts";

/** Reads the event log, even while another process writes to it. */
export interface EventReader {
  /** Yields all events in the log, oldest first. */
  read(): AsyncIterable<KeptEvent>;
  /** Yields all events in the log, then each new event that the owner writes, until the signal aborts. */
  follow(signal: AbortSignal): AsyncIterable<KeptEvent>;
}

/**
 * The names of the event log's files, the newest first. A rotation removes the oldest file, and renames each
 * other file to the next name in this list.
 */
export const eventLogFileNames: readonly string[] = [
  "events.ndjson",
  "events.1.ndjson",
  "events.2.ndjson",
  "events.3.ndjson",
];

const maxLineLength = 64 * 1024;

/**
 * Reads the events from the log files in a folder, even while the owner writes them. Skips incomplete lines
 * and lines that are not events.
 */
export function eventReader(folder: string): EventReader {
  return {
    async *read() {
      await using files = new OpenFiles(folder);
      yield* files.news();
    },

    async *follow(signal) {
      using changes = watchFolderForChanges(folder, { everyMs: 1_000 }, signal);
      await using files = new OpenFiles(folder);
      while (!signal.aborted) {
        yield* files.news();
        await changes.wait();
      }
    },
  };
}

interface OpenFile {
  readonly handle: FileHandle;
  position: number;
  cutter: LineSplitter;
}

/**
 * The open files of the event log, each with the position up to which it was read. They are identified by
 * device and inode, because a rotation renames files, and they stay open, so that their inode numbers are not
 * reused.
 */
class OpenFiles implements AsyncDisposable {
  readonly #folder: string;
  readonly #chunk = Buffer.alloc(64 * 1024);
  #known = new Map<string, OpenFile>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Yields the events that were logged since the last call, the oldest first. */
  async *news(): AsyncGenerator<KeptEvent> {
    const there = await this.#look();
    const gone = [...this.#known].filter(([identity]) => !there.has(identity));
    this.#known = new Map([...gone, ...there]);
    for (const file of this.#known.values()) yield* this.#rest(file);
    for (const [identity, { handle }] of gone) {
      this.#known.delete(identity);
      await handle.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { handle } of this.#known.values()) await handle.close();
  }

  /**
   * Opens the log files from the newest to the oldest. If a rotation happens meanwhile, this order can make a
   * file appear twice, but never makes a file be missed.
   */
  async #look(): Promise<Map<string, OpenFile>> {
    const found: [string, OpenFile][] = [];
    for (const name of eventLogFileNames) {
      const handle = await openRegularFile(join(this.#folder, name));
      if (handle === null) continue;
      const { dev, ino, size } = await handle.stat();
      const identity = `${dev} ${ino}`;
      const known = this.#known.get(identity);
      const isMet = found.some(([other]) => other === identity);
      if (known || isMet) await handle.close();
      if (isMet) continue;
      // Another program has truncated the file, so read it from its start.
      if (known && size < known.position)
        Object.assign(known, { position: 0, cutter: new LineSplitter(maxLineLength) });
      found.push([identity, known ?? { handle, position: 0, cutter: new LineSplitter(maxLineLength) }]);
    }
    return new Map(found.reverse());
  }

  async *#rest(file: OpenFile): AsyncGenerator<KeptEvent> {
    for (;;) {
      const { bytesRead } = await file.handle.read(this.#chunk, 0, this.#chunk.length, file.position);
      if (bytesRead === 0) return;
      file.position += bytesRead;
      for (const line of file.cutter.split(this.#chunk.subarray(0, bytesRead))) {
        if (line === null) continue;
        for (const value of parseJsonLine(Buffer.from(line).toString())) if (isEvent(value)) yield value;
      }
    }
  }
}

function isEvent(value: unknown): value is KeptEvent {
  if (typeof value !== "object" || value === null) return false;
  const { at, event, worker, swarmId } = value as Record<string, unknown>;
  return (
    typeof at === "string" &&
    typeof event === "string" &&
    (worker === undefined || typeof worker === "string") &&
    (swarmId === null || typeof swarmId === "string")
  );
}
