import { createHmac } from "node:crypto";
import { lstat, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxRecord } from "../contract/sandbox-run.ts";
import { SwarmError } from "../errors/errors.ts";
import { ifMissing } from "../errors/system-errors.ts";
import { writeFileDurably } from "../machine/durable-write.ts";
import { readOrCreateSecret } from "../machine/secret-file.ts";
import { findSchemaViolations } from "../schema/find-violations.ts";
import { parseJson } from "../schema/parse-json.ts";
import { once } from "../text/once.ts";
import { swarmOutputNames } from "./files/replace-task-outputs.ts";
import type { SandboxFolders } from "./sandbox-folders-port.ts";

/** Computes the seal of a sandbox's record: an HMAC of its text with a key that only this user can read. */
export type ComputeRecordSeal = (text: string) => Promise<string>;

/**
 * Creates the function that computes the seals of sandbox records. The HMAC key is in the user's state
 * folder, outside every repository.
 */
export function createRecordSeal(stateFolder: string): ComputeRecordSeal {
  const key = once(() => readOrCreateSecret(join(stateFolder, "record-key"), { bytes: 32 }));
  return async (text) =>
    createHmac("sha256", await key())
      .update(text)
      .digest("hex");
}

const idForm = /^[A-Za-z0-9_-]{8}$/;
/**
 * The maximum size of a sandbox's record in bytes. The largest record that swarm writes is several times
 * smaller: it contains two hundred paths of 4096 characters, each of them twice.
 */
const largestRecord = 8 * 1024 * 1024;

/** Reads and writes the record of each sandbox, the file `run.json` in the sandbox's folder below `all`. */
export function sandboxRecords(
  all: string,
  seal: ComputeRecordSeal,
): Pick<SandboxFolders, "list" | "read" | "write"> {
  return { list, read, write };

  async function list(): ReturnType<SandboxFolders["list"]> {
    const records: SandboxRecord[] = [];
    const unreadable: string[] = [];
    for (const id of await readdir(all).catch(ifMissing([])))
      try {
        const record = await read(id);
        if (record) records.push(record);
      } catch (error) {
        if (!(error instanceof SwarmError)) throw error;
        unreadable.push(error.message);
      }
    records.sort((a, b) => (a.createdAt > b.createdAt ? -1 : 1));
    return { records, unreadable };
  }

  async function read(id: string): Promise<SandboxRecord | null> {
    if (!idForm.test(id)) return null;
    const folder = join(all, id);
    const file = join(folder, "run.json");
    const bytes = await readRecordFile(file).catch(ifMissing(null));
    if (bytes === null) return null;
    const link = await findLink(folder);
    if (link)
      throw new SwarmError("FILE_FAILED", {
        file: link,
        reason: "the path is a symbolic link, so swarm does not use this sandbox",
      });
    const { seal: found, ...record } = await parseSandboxRecord(bytes, file);
    // Refuse a record without a valid seal. The record may come from an untrusted repository, whose author
    // could name any container and engine in it.
    const isOurs = record.id === id && found !== undefined && found === (await seal(JSON.stringify(record)));
    if (!isOurs) throw new SwarmError("SANDBOX_FOREIGN", { id, folder });
    return record;
  }

  async function write(record: SandboxRecord): Promise<void> {
    const sealed: SandboxRecord = { ...record, seal: await seal(JSON.stringify(record)) };
    await writeFileDurably(join(all, record.id, "run.json"), `${JSON.stringify(sealed, null, 2)}\n`, {
      keepAttributes: true,
    });
  }
}

/** Parses and validates the record of one sandbox. */
export async function parseSandboxRecord(bytes: Uint8Array, file: string): Promise<SandboxRecord> {
  const { value, locationOf } = parseJson(bytes, file);
  const [first] = await findSchemaViolations("sandbox-run", value);
  if (first)
    throw new SwarmError("FILE_UNREADABLE", { place: locationOf(first.pointer), reason: first.problem });
  return value as SandboxRecord;
}

/**
 * Returns the path of a symbolic link among the files that swarm writes in a sandbox's folder, or null. The
 * folder may come from an untrusted author, whose link could lead to any file of the user.
 */
async function findLink(folder: string): Promise<string | null> {
  const names = ["inputs", "work", "outputs", "run.json", "events.log", "sandbox.yaml", ".lock"];
  const logs = swarmOutputNames.map((name) => join("outputs", name));
  for (const name of ["", ...names, ...logs]) {
    const path = join(folder, name);
    const stats = await lstat(path).catch(ifMissing(null));
    if (stats?.isSymbolicLink()) return path;
  }
  return null;
}

/**
 * Reads the file of a sandbox's record; throws if the file is too large, because another program may have
 * written it.
 */
async function readRecordFile(file: string): Promise<Uint8Array> {
  const { size } = await stat(file);
  if (size > largestRecord)
    throw new SwarmError("FILE_TOO_LARGE", { place: { file }, bytes: size, limit: largestRecord });
  return readFile(file);
}
