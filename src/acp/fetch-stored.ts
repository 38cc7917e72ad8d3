import { BoundedText } from "../domain/bounded-text.ts";
import { cleanText } from "../domain/clean-text.ts";
import { showBytes } from "../domain/duration.ts";
import { isError, SwarmError } from "../domain/errors.ts";
import type { Containers } from "../ports/containers.ts";
import type { ReadArchive } from "./read-volume-journal.ts";
import type { Timing } from "./timing.ts";

export interface FetchDeps {
  readonly containers: Pick<Containers, "copyOut" | "exec" | "look">;
  readonly readArchive: ReadArchive;
  readonly timing: Pick<Timing, "wait">;
}

/** An engine that is busy calls a container running that it has no programs in any more, for a while. */
const mostTries = 6;
const againMs = 100;

export interface StoredFile {
  readonly containerId: string;
  /** Below `/aimi/out`. */
  readonly path: string;
  /** More than this is OUTPUT_TOO_LONG. */
  readonly mostBytes: number;
}

/**
 * The bytes of a file that an adapter stored for the host. They are what somebody in the container wrote: their checksum
 * is to be compared, and what they hold checked.
 */
export async function* fetchStored(
  deps: FetchDeps,
  file: StoredFile,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { path, mostBytes } = file;
  if (!/^\/aimi\/out\/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/.test(path))
    throw new SwarmError("PATH_REFUSED", {
      path: cleanText(path),
      reason: "it is no file directly below /aimi/out",
    });
  let given = 0;
  for (let tries = 1; ; tries += 1) {
    let known = given;
    try {
      for await (const bytes of await openStored(deps, file, signal)) {
        const more = bytes.subarray(known);
        known -= bytes.length - more.length;
        given += more.length;
        if (given > mostBytes)
          throw new SwarmError("OUTPUT_TOO_LONG", { command: `cat ${path}`, limit: showBytes(mostBytes) });
        if (more.length > 0) yield more;
      }
      signal.throwIfAborted();
      return;
    } catch (error) {
      // It ended between the look and the reading, or in its midst; now it can be read the other way, from where this came to.
      const isCutOff = isError(error, "CONTAINER_NOT_RUNNING") || isError(error, "EXEC_FAILED");
      if (!isCutOff || tries === mostTries) throw error;
      await deps.timing.wait(tries * againMs, signal);
    }
  }
}

async function openStored(
  { containers, readArchive }: FetchDeps,
  file: StoredFile,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const { containerId: id, path } = file;
  const facts = await containers.look(id, { withDisk: false }, signal);
  if (!facts) throw new SwarmError("CONTAINER_GONE", { id });
  // Of a running container the archive tells lies on some runtimes: what is newer than its start is not in it.
  if (facts.state === "running") return fromRunning(containers, file, signal);
  if (facts.state === "exited" || facts.state === "dead")
    return fromEnded(containers.copyOut(id, path, signal), readArchive, file);
  throw new SwarmError("CONTAINER_NOT_RUNNING", { id, state: facts.state });
}

/** An engine that cannot start a program writes its own words where the program's would be; these few bytes are not the file's. */
const longestComplaint = 4_096;

async function* fromRunning(
  containers: Pick<Containers, "exec">,
  { containerId, path }: StoredFile,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const command = ["cat", "--", path];
  await using execution = await containers.exec(containerId, { command, user: "0:0", input: false }, signal);
  const complaints = new BoundedText(1_000);
  const held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const { stream, bytes } of execution.output) {
    if (stream === "stderr") complaints.add(bytes);
    else if (heldBytes > longestComplaint) yield bytes;
    else {
      held.push(bytes);
      heldBytes += bytes.length;
      if (heldBytes > longestComplaint) yield* held;
    }
  }
  const exit = await execution.exit();
  if (exit.kind === "exited" && exit.code === 0) {
    if (heldBytes <= longestComplaint) yield* held;
    return;
  }
  const reason = exit.kind === "lost" ? exit.reason : complaints.finish().text;
  if (/No such file/.test(reason)) throw new SwarmError("FILE_NOT_FOUND", { path });
  throw new SwarmError("EXEC_FAILED", { command: command.join(" "), reason: cleanText(reason) });
}

async function* fromEnded(
  archive: AsyncIterable<Uint8Array>,
  readArchive: ReadArchive,
  { path, mostBytes }: StoredFile,
): AsyncGenerator<Uint8Array> {
  // What is too large is told by whoever counts, in the same words as elsewhere.
  const limits = { entries: 1, bytes: Math.max(mostBytes * 2, 1024 ** 3), nameBytes: 200 };
  for await (const entry of readArchive(archive, limits)) {
    if (entry.kind !== "file") break;
    yield* entry.content;
    return;
  }
  throw new SwarmError("FILE_NOT_FOUND", { path });
}
