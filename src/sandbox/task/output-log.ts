import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { OutputChunk } from "../../engine/containers.ts";
import type { OutputLog, SandboxEvent } from "../sandbox-folders-port.ts";

/** The maximum number of bytes to store of each of a task's two output streams (stdout and stderr). */
const maxBytes = 10 * 1024 * 1024;
/**
 * The size in bytes after which a new piece of output begins. A piece is uninterrupted output of stdout or
 * stderr, which one event describes.
 */
const maxPieceLength = 64 * 1024;
const quietMs = 200;
/**
 * The maximum number of pieces to log, because a task that alternates between stdout and stderr at each byte
 * would cause more events than output. Beyond the limit, only the order between stdout and stderr is lost.
 */
const maxPieces = 10_000;

interface Piece {
  readonly stream: OutputChunk["stream"];
  readonly offset: number;
  bytes: number;
}

/**
 * Opens `stdout.log` and `stderr.log` in a folder to log a sandbox task's output. For each piece of output,
 * writes an event with the position of the piece in the log.
 */
export async function openOutputLog(
  folder: string,
  writeEvent: (event: SandboxEvent) => Promise<void>,
): Promise<OutputLog> {
  await using undo = new AsyncDisposableStack();
  const stdout = undo.use(await open(join(folder, "stdout.log"), "w"));
  const stderr = undo.use(await open(join(folder, "stderr.log"), "w"));
  const files: Record<OutputChunk["stream"], FileHandle> = { stdout, stderr };
  const written = { stdout: 0, stderr: 0 };
  let piece: Piece | null = null;
  let pieces = 0;
  let isCut = false;

  let timer: NodeJS.Timeout | undefined;
  // The end of the last queued write. Writes run one at a time, because both the caller and a timer write.
  // The timer ends a piece when no more output comes.
  let turn: Promise<void> = Promise.resolve();
  const enqueue = (work: () => Promise<void>): Promise<void> => {
    const mine = turn.then(work);
    // A failed write rejects only for its own caller; the next write runs regardless.
    turn = mine.catch(() => {});
    return mine;
  };

  const endPiece = async (): Promise<void> => {
    clearTimeout(timer);
    const ended = piece;
    piece = null;
    if (ended) pieces += 1;
    if (ended && pieces <= maxPieces)
      await writeEvent({ event: "output", stream: ended.stream, offset: ended.offset, bytes: ended.bytes });
  };

  const write = async ({ stream, bytes }: OutputChunk): Promise<void> => {
    const accepted = bytes.subarray(0, Math.max(0, maxBytes - written[stream]));
    if (accepted.length < bytes.length && !isCut) {
      isCut = true;
      await endPiece();
      await writeEvent({ event: "output-cut", stream, afterBytes: maxBytes });
    }
    if (accepted.length === 0) return;
    if (piece?.stream !== stream || piece.bytes >= maxPieceLength) {
      await endPiece();
      piece = { stream, offset: written[stream], bytes: 0 };
      timer = setTimeout(() => void enqueue(endPiece).catch(() => {}), quietMs);
    }
    await files[stream].writeFile(accepted);
    written[stream] += accepted.length;
    piece.bytes += accepted.length;
  };

  undo.move();
  return {
    get isCut() {
      return isCut;
    },

    write: (chunk) => enqueue(() => write(chunk)),

    async [Symbol.asyncDispose]() {
      // Ignore a failure to write this event: only the order of the last output is lost, not the output.
      await enqueue(endPiece).catch(() => {});
      await Promise.all([stdout.close(), stderr.close()]);
    },
  };
}
