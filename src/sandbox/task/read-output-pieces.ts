import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { OutputChunk } from "../../engine/containers.ts";
import { ifMissing } from "../../errors/system-errors.ts";

const lookAgainMs = 200;
const readBytes = 256 * 1024;
/** The maximum length of a line in `events.log`. Swarm never writes a longer line. */
const maxLineLength = 64 * 1024;
/** The maximum number of events to read of one task. Swarm never writes more events for a task. */
const maxEvents = 100_000;

/**
 * Yields the stdout and stderr of a sandbox's last task from the log files, in the order that `events.log`
 * records. With `follow`, continues until the task has ended.
 */
export async function* readOutputPieces(
  folder: string,
  { follow }: { readonly follow: boolean },
  signal?: AbortSignal,
): AsyncGenerator<OutputChunk> {
  const taskLog = taskEvents(join(folder, "events.log"));
  for (;;) {
    signal?.throwIfAborted();
    const fresh = await taskLog.readOn();
    if (fresh === null) return;
    for (const { event, stream, offset, bytes } of fresh)
      if (event === "output" && (stream === "stdout" || stream === "stderr"))
        yield {
          stream,
          bytes: await readAt(join(folder, "outputs", `${stream}.log`), Number(offset), Number(bytes)),
        };
    const events = taskLog.all();
    if (!follow || events.some(({ event }) => ["task-ended", "ended", "destroyed"].includes(event))) {
      yield* uncovered(folder, events);
      return;
    }
    await delay(lookAgainMs, undefined, signal && { signal });
  }
}

/**
 * Reads the events of a sandbox's last task from `events.log`. The file also contains the events of earlier
 * tasks, and may still grow.
 */
function taskEvents(file: string): {
  /** Reads the events that were added since the previous call; returns null if the file does not exist. */
  readOn(): Promise<readonly ReadEvent[] | null>;
  all(): readonly ReadEvent[];
} {
  let position = 0;
  let rest = "";
  let events: ReadEvent[] = [];
  let yielded = 0;
  return { readOn, all: () => events };

  async function readOn(): Promise<readonly ReadEvent[] | null> {
    await using handle = await open(file, "r").catch(ifMissing(undefined));
    if (!handle) return null;
    const buffer = Buffer.alloc(readBytes);
    // Read as Latin-1, which has one character per byte, because a read may end inside a character. Decode
    // each line when it is complete.
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, readBytes, position);
      if (bytesRead === 0) break;
      position += bytesRead;
      const lines = (rest + buffer.toString("latin1", 0, bytesRead)).split("\n");
      rest = (lines.pop() ?? "").slice(0, maxLineLength);
      for (const line of lines)
        for (const event of parsed(Buffer.from(line, "latin1").toString())) take(event);
    }
    const fresh = events.slice(yielded);
    yielded = events.length;
    return fresh;
  }

  function take(event: ReadEvent): void {
    // Each task starts new log files, so drop the events of the previous task.
    if (event.event === "task-started") {
      events = [];
      yielded = 0;
    } else if (events.length < maxEvents) events.push(event);
  }
}

/**
 * Yields the output at the end of the log files that `events.log` does not list. Such output remains if swarm
 * was killed after writing output to a log file and before writing the event.
 */
async function* uncovered(folder: string, events: readonly ReadEvent[]): AsyncGenerator<OutputChunk> {
  for (const stream of ["stdout", "stderr"] as const) {
    const ends = events
      .filter((event) => event.event === "output" && event.stream === stream)
      .map(({ offset, bytes }) => Number(offset) + Number(bytes));
    const end = Math.max(0, ...ends);
    const file = join(folder, "outputs", `${stream}.log`);
    const size = await stat(file).then(
      (stats) => stats.size,
      () => 0,
    );
    if (size > end) yield { stream, bytes: await readAt(file, end, size - end) };
  }
}

interface ReadEvent {
  readonly event: string;
  readonly stream?: unknown;
  readonly offset?: unknown;
  readonly bytes?: unknown;
}

function parsed(line: string): ReadEvent[] {
  try {
    const event: unknown = JSON.parse(line);
    return typeof event === "object" && event !== null ? [event as ReadEvent] : [];
  } catch {
    return [{ event: "unreadable" }];
  }
}

async function readAt(file: string, offset: number, length: number): Promise<Uint8Array> {
  await using handle = await open(file, "r");
  const { size } = await handle.stat();
  // Check the offsets: they come from a file that another program may have written.
  if (!(offset >= 0 && length > 0 && offset + length <= size)) return new Uint8Array();
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset);
  return buffer.subarray(0, bytesRead);
}
