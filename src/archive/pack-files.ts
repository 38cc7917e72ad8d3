import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { type Pack, pack } from "tar-stream";
import { waitUntilDrained } from "../wire/wait-until-drained.ts";
import { archiveRefusedError } from "./archive-refused.ts";

/**
 * A folder or file to put into a tar archive. A file's content is either in memory or on this machine's disk.
 */
export type EntryToPack = {
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
} & (
  | { readonly kind: "folder" }
  | { readonly kind: "file"; readonly content: Uint8Array }
  | { readonly kind: "file"; readonly from: string }
);

type EntryHeader = Parameters<Pack["entry"]>[0];

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

const pieceBytes = 64 * 1024;

/**
 * Packs files as a tar archive and yields it piece by piece. The same files always result in the same bytes.
 */
export async function* packFiles(
  files: Iterable<EntryToPack> | AsyncIterable<EntryToPack>,
): AsyncGenerator<Uint8Array> {
  const packing = pack();
  // If `feed` fails, destroy the stream, so that the loop below throws the error.
  const fed = feed(packing, files).catch((error: Error) => void packing.destroy(error));
  try {
    for await (const piece of packing) yield piece as Uint8Array;
  } finally {
    packing.destroy();
    await fed;
  }
}

async function feed(packing: Pack, files: Iterable<EntryToPack> | AsyncIterable<EntryToPack>): Promise<void> {
  for await (const file of files) {
    if (file.kind === "folder") await addEntry(packing, headerOf(file, 0));
    else if ("content" in file) await addEntry(packing, headerOf(file, file.content.length), [file.content]);
    else await addFromDisk(packing, file);
  }
  packing.finalize();
}

async function addFromDisk(packing: Pack, file: EntryToPack & { readonly from: string }): Promise<void> {
  await using handle = await openRegular(file.from);
  const { size } = await handle.stat();
  await addEntry(packing, headerOf(file, size), exactly(handle, size, file.from));
}

async function openRegular(file: string): Promise<FileHandle> {
  // Without O_NONBLOCK, opening a FIFO would block until another process opens the FIFO for writing.
  const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      throw error.code === "ELOOP" ? archiveRefusedError(file, "the file is a symbolic link", error) : error;
    },
  );
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw archiveRefusedError(file, "the file is not a regular file");
}

/**
 * Yields as many bytes of a file's content as the tar header says. Throws if the file's size changes
 * meanwhile.
 */
async function* exactly(handle: FileHandle, size: number, file: string): AsyncGenerator<Uint8Array> {
  for (let left = size; left > 0; ) {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(Math.min(left, pieceBytes)));
    if (bytesRead === 0) throw archiveRefusedError(file, "the file shrank while swarm read the file");
    left -= bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
  const { bytesRead } = await handle.read(Buffer.alloc(1));
  if (bytesRead > 0) throw archiveRefusedError(file, "the file grew while swarm read the file");
}

function headerOf({ path, mode, uid, gid, kind }: EntryToPack, size: number): EntryHeader {
  return {
    name: path,
    type: kind === "folder" ? "directory" : "file",
    mode,
    uid,
    gid,
    size,
    // With the real time, archives of equal files would differ.
    mtime: new Date(0),
    // tar-stream writes the user ID and the group ID with six octal digits each, and would write a larger one
    // as 777777.
    ...(Math.max(uid, gid) > 0o777777 && { pax: { uid: String(uid), gid: String(gid) } }),
  };
}

/** Adds one entry to the tar archive. Waits while the archive's reader is slower (back-pressure). */
async function addEntry(
  packing: Pack,
  header: EntryHeader,
  content: Iterable<Uint8Array> | AsyncIterable<Uint8Array> = [],
): Promise<void> {
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  const sink = packing.entry(header, (error) => (error ? reject(error) : resolve()));
  sink.on("error", reject);
  // If `content` fails, the loop below throws its error. `done` then rejects only as a consequence, so ignore
  // that.
  done.catch(() => undefined);
  if (header.type === "file") {
    for await (const piece of content) {
      if (sink.destroying) break;
      if (!sink.write(piece)) await waitUntilDrained(sink);
    }
    sink.end(null);
  }
  await done;
}
