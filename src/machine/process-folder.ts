import { randomBytes } from "node:crypto";
import { lstat, mkdir, readdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { isAlive } from "./processes.ts";

/** A temporary folder that only this process uses. Disposing removes the folder. */
export interface ProcessFolder extends AsyncDisposable {
  readonly folder: string;
}

/**
 * Creates a temporary folder whose name contains this process's ID. Also removes folders of the same kind
 * that killed processes left behind.
 */
export async function createProcessFolder(parent: string, kind = ""): Promise<ProcessFolder> {
  await removeLeftovers(parent, kind);
  const folder = join(parent, `${kind}${thisHost()}.${process.pid}.${randomBytes(9).toString("hex")}`);
  await mkdir(folder, { mode: 0o700 });
  return { folder, [Symbol.asyncDispose]: () => remove(folder) };
}

/**
 * The age in milliseconds after which a process's folder counts as abandoned. No process needs its folder for
 * so long.
 */
const maxMs = 24 * 3_600_000;

/**
 * Removes the folders of this machine's processes that have ended, and all folders older than a day. The age
 * limit covers folders of other machines, and folders whose process ID now belongs to another process.
 */
async function removeLeftovers(parent: string, kind: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(kind)) continue;
    const [, host, pid] = /^(.*)\.(\d+)\.[0-9a-f]+$/.exec(name.slice(kind.length)) ?? [];
    const stats = await lstat(join(parent, name)).catch(() => null);
    // In a shared folder such as `/tmp`, another user may have created an entry with such a name.
    if (!stats?.isDirectory() || stats.uid !== process.getuid?.()) continue;
    const isOld = Date.now() - stats.mtimeMs > maxMs;
    const isLeft = host === thisHost() && pid !== undefined && !isAlive(Number(pid));
    // Ignore an error: a folder that cannot be removed only costs disk space.
    if (isOld || isLeft) await remove(join(parent, name)).catch(() => {});
  }
}

function remove(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

function thisHost(): string {
  return hostname().replace(/[^A-Za-z0-9-]/g, "-");
}
