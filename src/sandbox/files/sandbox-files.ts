import { randomBytes } from "node:crypto";
import { lstat, mkdtemp, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type EntryToPack, packFiles } from "../../archive/pack-files.ts";
import type { ArchiveLimits } from "../../archive/read-archive.ts";
import { unpackArchive } from "../../archive/unpack-archive.ts";
import type { Containers, OutputChunk } from "../../engine/containers.ts";
import { isError, SwarmError } from "../../errors/errors.ts";
import { isSystemError } from "../../errors/system-errors.ts";
import { BoundedList } from "../../text/bounded-list.ts";
import { formatBytes } from "../../text/duration-and-size.ts";
import * as scripts from "../command/in-container-scripts.ts";
import { type CommandContainer, type CommandRequest, runCommand } from "../command/run-command.ts";
import { sandboxUser } from "../sandbox-defaults.ts";
import { createTarErrorParser, type TarErrorMessage } from "./tar-errors.ts";

export interface ListedFile {
  readonly name: string;
  readonly kind: "file" | "folder" | "link" | "other";
  /** The size of a regular file in bytes; 0 for all other kinds of entries. */
  readonly size: number;
}

/**
 * The result of copying files out of a sandbox. Each list is truncated; `more` counts the entries that a list
 * leaves out.
 */
export interface CopiedOut {
  readonly files: readonly string[];
  readonly bytes: number;
  /** The files that swarm did not copy, or that changed during the copying. */
  readonly leftOut: readonly TarErrorMessage[];
  readonly more: { readonly files: number } & Readonly<Record<TarErrorMessage["kind"], number>>;
}

/** The limits of a copy out of a sandbox: the number of entries, the total size, and the length of a name. */
const copyLimits: ArchiveLimits = { entries: 1_000_000, bytes: 8 * 1024 ** 3, nameBytes: 4096 };

const listedComplaints = { items: 100, characters: 60_000 };

const fileMs = 10 * 60_000;
const maxListLength = 64 * 1024 * 1024;

/**
 * Reads a file in a sandbox by its absolute path in the container. Throws PATH_REFUSED if the file is larger
 * than `maxBytes`.
 */
export async function readSandboxFile(
  container: CommandContainer,
  { path, maxBytes }: { readonly path: string; readonly maxBytes: number },
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const operation = { path, command: scripts.shellCommand(scripts.readFileScript, path) };
  const wrongKind = "the path is not a regular file";
  return readOutput(container, { ...operation, wrongKind, maxBytes }, signal).catch((error: unknown) => {
    if (!isError(error, "OUTPUT_TOO_LONG")) throw error;
    const reason = `the file is larger than ${formatBytes(maxBytes)}`;
    throw new SwarmError("PATH_REFUSED", { path, reason }, error);
  });
}

/** Atomically writes a file in a sandbox. Creates missing parent folders. */
export async function writeSandboxFile(
  container: CommandContainer,
  { path, content }: { readonly path: string; readonly content: Uint8Array },
  signal?: AbortSignal,
): Promise<void> {
  const args = [path, String(content.length), randomBytes(6).toString("hex")];
  const command = scripts.shellCommand(scripts.writeFileScript, ...args);
  const operation = { path, command, wrongKind: "the path is a folder" };
  await runFileOperation(container, operation, { input: content, timeoutMs: fileMs }, signal);
}

/** Lists the entries of a folder in a sandbox, sorted by name. */
export async function listSandboxFolder(
  container: CommandContainer,
  path: string,
  signal?: AbortSignal,
): Promise<ListedFile[]> {
  const operation = { path, command: scripts.shellCommand(scripts.listFolderScript, path) };
  const wrongKind = "the path is not a folder";
  const rows = await readOutput(container, { ...operation, wrongKind, maxBytes: maxListLength }, signal);
  return rows
    .toString()
    .split("\0")
    .filter(Boolean)
    .map((row) => {
      const [kind = "", size = "", ...name] = row.split("\t");
      return { name: name.join("\t"), kind: kind as ListedFile["kind"], size: Number(size.trim()) };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Copies files into a folder of a running sandbox. The sandbox's user writes and owns the files. */
export async function copyFilesIntoSandbox(
  container: CommandContainer,
  { into, files }: { readonly into: string; readonly files: Iterable<EntryToPack> },
  signal?: AbortSignal,
): Promise<void> {
  const command = scripts.shellCommand(scripts.unpackScript, into);
  const operation = { path: into, command, wrongKind: "the path is not a folder" };
  await runFileOperation(container, operation, { input: packFiles(files), timeoutMs: null }, signal);
}

interface FileOperation {
  readonly path: string;
  readonly command: readonly string[];
  /** The reason why swarm refuses the path if the path is of the wrong kind. */
  readonly wrongKind: string;
}

/** Runs a script that reads or writes a path in a sandbox. Throws if the script reports a failure. */
async function runFileOperation(
  container: CommandContainer,
  { path, command, wrongKind }: FileOperation,
  options: Pick<CommandRequest, "input" | "timeoutMs" | "maxOutputBytes" | "onOutput">,
  signal?: AbortSignal,
): Promise<void> {
  const request = { ...options, command, outputLimit: 2_000 };
  const { exitCode, stderr } = await runCommand(container, request, signal);
  refuse(path, exitCode, stderr, wrongKind);
}

async function readOutput(
  container: CommandContainer,
  { maxBytes, ...operation }: FileOperation & { readonly maxBytes: number },
  signal?: AbortSignal,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  const onOutput = ({ stream, bytes }: OutputChunk): void => {
    // Copies the chunk, because the engine's client reuses the chunk's buffer.
    if (stream === "stdout") chunks.push(Uint8Array.from(bytes));
  };
  const options = { timeoutMs: fileMs, maxOutputBytes: maxBytes, onOutput };
  await runFileOperation(container, operation, options, signal);
  return Buffer.concat(chunks);
}

/** A sandbox's container, from which swarm copies files whether it is running or not. */
interface CopySource extends CommandContainer {
  readonly containers: Pick<Containers, "copyOut" | "exec" | "inspect">;
}

/**
 * Copies a file or folder out of a sandbox to a path on this machine that must not exist. Throws if an entry
 * is a link, a device or unreadable; with `leaveOut`, skips such entries and reports them.
 */
export async function copyPathOutOfSandbox(
  { containers, containerId: id }: CopySource,
  { path, into, leaveOut }: { path: string; into: string; leaveOut: boolean },
  signal?: AbortSignal,
): Promise<CopiedOut> {
  if (await lstat(into).catch(() => null))
    throw new SwarmError("FILE_FAILED", { file: into, reason: "the destination already exists" });
  const facts = await containers.inspect(id, undefined, signal);
  if (!facts) throw new SwarmError("CONTAINER_GONE", { id });
  // If the container runs, `tar` in the container packs the files, because the engine's own copy of a running
  // container can be wrong. Its complaints are collected here.
  const complaints = {
    barred: new BoundedList<TarErrorMessage>(listedComplaints),
    missed: new BoundedList<TarErrorMessage>(listedComplaints),
    torn: new BoundedList<TarErrorMessage>(listedComplaints),
  };
  const archive =
    facts.state === "running"
      ? packedByProgram(
          { containers, containerId: id },
          { path, most: leaveOut ? String(copyLimits.bytes) : "" },
          (complaint) =>
            complaints[complaint.kind].add(complaint, complaint.path.length + complaint.reason.length),
          signal,
        )
      : containers.copyOut(id, path, signal);
  const name = basename(path);
  if (name === "")
    throw new SwarmError("PATH_REFUSED", { path, reason: "swarm does not copy a whole root filesystem" });
  const folder = await mkdtemp(join(dirname(into), ".copying-")).catch((error: Error) => {
    throw new SwarmError("FILE_FAILED", { file: dirname(into), reason: error.message }, error);
  });
  try {
    const all = join(folder, "all");
    const unpacked = await unpackArchive(archive, { into: all, leaveOut, limits: copyLimits }, signal);
    const { barred, missed, torn } = complaints;
    const [problem] = [...missed.items, ...torn.items];
    if (problem && !leaveOut) throw unreadable(path, problem);
    const leftOut = [...unpacked.leftOut, ...barred.items, ...missed.items, ...torn.items];
    await rename(join(all, name), into).catch((error: unknown) => {
      if (!isSystemError(error, "ENOENT")) throw error;
      throw new SwarmError("ARCHIVE_REFUSED", {
        entry: name,
        reason: leftOut[0]?.reason ?? "the archive does not contain the path",
      });
    });
    return {
      files: unpacked.files.map((file) => file.slice(name.length + 1)).filter(Boolean),
      bytes: unpacked.bytes,
      leftOut,
      more: {
        files: unpacked.more.files,
        barred: unpacked.more.barred + barred.more,
        missed: unpacked.more.missed + missed.more,
        torn: torn.more,
      },
    };
  } catch (error) {
    // If `tar` complained, its message explains the error better than the missing entry in the archive.
    const [problem] = complaints.missed.items;
    if (problem && isError(error, "ARCHIVE_REFUSED")) throw unreadable(path, problem, error);
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Returns a file or folder of a running sandbox as a tar stream. The stream is untrusted, because a program
 * in the sandbox creates it: only `unpackArchive` may read the stream.
 */
async function* packedByProgram(
  { containers, containerId }: CommandContainer,
  { path, most }: { path: string; most: string },
  complain: (complaint: TarErrorMessage) => void,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  await using execution = await containers.exec(
    containerId,
    { command: scripts.shellCommand(scripts.packPathScript, path, most), user: sandboxUser, input: false },
    signal,
  );
  let hasComplaint = false;
  const lines = createTarErrorParser((complaint) => {
    hasComplaint = true;
    complain(complaint);
  });
  for await (const { stream, bytes } of execution.output) {
    if (stream === "stdout") yield bytes;
    else lines.add(bytes);
  }
  lines.end();
  const exit = await execution.exit();
  if (exit.kind === "lost") throw new SwarmError("EXEC_FAILED", { command: "tar", reason: exit.reason });
  const { missing, forbidden } = scripts.scriptExitCodes;
  if (exit.code === missing || exit.code === forbidden)
    refuse(path, exit.code, "", "the path cannot be stored in a tar archive");
  // An exit code without a complaint still means that something is missing, because `tar` leaves unreadable
  // files out of an otherwise complete archive.
  if (exit.code !== 0 && !hasComplaint)
    complain({ kind: "missed", path: basename(path), reason: `tar exited with code ${exit.code}` });
}

function unreadable(path: string, problem: TarErrorMessage, cause?: unknown): SwarmError<"EXEC_FAILED"> {
  const facts = {
    command: `a file operation at ${path}`,
    reason: `${problem.path}: ${problem.reason}`.slice(0, 300),
  };
  return new SwarmError("EXEC_FAILED", facts, cause);
}

function refuse(path: string, exitCode: number, stderr: string, wrongKind: string): void {
  switch (exitCode) {
    case 0:
      return;
    case scripts.scriptExitCodes.missing:
      throw new SwarmError("FILE_NOT_FOUND", { path });
    case scripts.scriptExitCodes.wrongKind:
      throw new SwarmError("PATH_REFUSED", { path, reason: wrongKind });
    case scripts.scriptExitCodes.forbidden:
      throw new SwarmError("PATH_REFUSED", {
        path,
        reason: "the sandbox's user has no permission for this path, or the disk is full",
      });
    default:
      throw new SwarmError("EXEC_FAILED", {
        command: `a file operation at ${path}`,
        reason: stderr.trim().slice(0, 300) || `exit ${exitCode}`,
      });
  }
}
