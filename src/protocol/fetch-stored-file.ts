import { readArchive } from "../archive/read-archive.ts";
import type { Containers } from "../engine/containers.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import { backoffMs } from "../text/backoff.ts";
import { BoundedText } from "../text/bounded-text.ts";
import { formatBytes } from "../text/duration-and-size.ts";
import { sanitizeText } from "../text/sanitize-text.ts";
import type { ClockAndRandom } from "./clock-and-random.ts";

export interface FetchStoredFileDeps {
  readonly containers: Pick<Containers, "copyOut" | "exec" | "inspect">;
  readonly timing: Pick<ClockAndRandom, "wait">;
}

/**
 * Maximum number of attempts to read a file. An attempt can fail because a busy engine may, for a while,
 * report an ended container as running.
 */
const maxTries = 6;

export interface StoredFile {
  readonly containerId: string;
  /** The path of the file in the container, directly below `/aimi/out`. */
  readonly path: string;
  /** The maximum size of the file in bytes. Reading a longer file throws OUTPUT_TOO_LONG. */
  readonly maxBytes: number;
}

/**
 * Yields the content of a file that the adapter stored in its container for the host. Any program in the
 * container may have written the file, so the caller must verify its checksum and its content.
 */
export async function* fetchStoredFile(
  deps: FetchStoredFileDeps,
  file: StoredFile,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { path, maxBytes } = file;
  if (!/^\/aimi\/out\/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/.test(path))
    throw new SwarmError("PATH_REFUSED", {
      path: sanitizeText(path),
      reason: "the path is not a file directly below /aimi/out",
    });
  let yielded = 0;
  for (let tries = 1; ; tries += 1) {
    let known = yielded;
    try {
      for await (const bytes of await openStored(deps, file, signal)) {
        const more = bytes.subarray(known);
        known -= bytes.length - more.length;
        yielded += more.length;
        if (yielded > maxBytes)
          throw new SwarmError("OUTPUT_TOO_LONG", { command: `cat ${path}`, limit: formatBytes(maxBytes) });
        if (more.length > 0) yield more;
      }
      signal.throwIfAborted();
      return;
    } catch (error) {
      // The container ended before or during the read. The next try reads the file from the container's
      // archive, and skips the bytes already yielded.
      const isCutOff = isError(error, "CONTAINER_NOT_RUNNING") || isError(error, "EXEC_FAILED");
      if (!isCutOff || tries === maxTries) throw error;
      await deps.timing.wait(backoffMs(tries, 0), signal);
    }
  }
}

async function openStored(
  { containers }: FetchStoredFileDeps,
  file: StoredFile,
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  const { containerId: id, path } = file;
  const facts = await containers.inspect(id, { withDisk: false }, signal);
  if (!facts) throw new SwarmError("CONTAINER_GONE", { id });
  // On some runtimes the archive of a running container is wrong: it lacks all files written since the
  // container started.
  if (facts.state === "running") return fromRunning(containers, file, signal);
  if (facts.state === "exited" || facts.state === "dead")
    return fromEnded(containers.copyOut(id, path, signal), file);
  throw new SwarmError("CONTAINER_NOT_RUNNING", { id, state: facts.state });
}

/**
 * Maximum length in bytes of an engine's error text. An engine that cannot start a program writes the error
 * to the program's stdout, so output that is this short is yielded only after the program has succeeded.
 */
const maxErrorLength = 4_096;

async function* fromRunning(
  containers: Pick<Containers, "exec">,
  { containerId, path }: StoredFile,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const command = ["cat", "--", path];
  await using execution = await containers.exec(containerId, { command, user: "0:0", input: false }, signal);
  const stderr = new BoundedText(1_000);
  const heldBack: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const { stream, bytes } of execution.output) {
    if (stream === "stderr") stderr.add(bytes);
    else if (heldBytes > maxErrorLength) yield bytes;
    else {
      heldBack.push(bytes);
      heldBytes += bytes.length;
      if (heldBytes > maxErrorLength) yield* heldBack;
    }
  }
  const exit = await execution.exit();
  if (exit.kind === "exited" && exit.code === 0) {
    if (heldBytes <= maxErrorLength) yield* heldBack;
    return;
  }
  const reason = exit.kind === "lost" ? exit.reason : stderr.finish().text;
  if (/No such file/.test(reason)) throw new SwarmError("FILE_NOT_FOUND", { path });
  throw new SwarmError("EXEC_FAILED", { command: command.join(" "), reason: sanitizeText(reason) });
}

async function* fromEnded(
  archive: AsyncIterable<Uint8Array>,
  { path, maxBytes }: StoredFile,
): AsyncGenerator<Uint8Array> {
  // `fetchStoredFile` checks `maxBytes` itself and throws OUTPUT_TOO_LONG, so the limit of the archive reader is
  // larger.
  const limits = { entries: 1, bytes: Math.max(maxBytes * 2, 1024 ** 3), nameBytes: 200 };
  for await (const entry of readArchive(archive, { limits })) {
    if (entry.kind !== "file") break;
    yield* entry.content;
    return;
  }
  throw new SwarmError("FILE_NOT_FOUND", { path });
}
