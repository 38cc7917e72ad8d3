import { randomBytes } from "node:crypto";
import { lstat, mkdir, readdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

/** A folder that only this process enters, gone in the end. */
export interface OwnFolder extends AsyncDisposable {
  readonly folder: string;
}

/**
 * Makes one whose name says which process has it. What a process left behind that was killed is removed by the next one that
 * makes a folder of the same kind there.
 */
export async function makeOwnFolder(parent: string, kind = ""): Promise<OwnFolder> {
  await removeLeftovers(parent, kind);
  const folder = join(parent, `${kind}${thisHost()}.${process.pid}.${randomBytes(9).toString("hex")}`);
  await mkdir(folder, { mode: 0o700 });
  return { folder, [Symbol.asyncDispose]: () => remove(folder) };
}

/** Longer than anything in there is allowed to take. */
const longestMs = 24 * 3_600_000;

/** Those of processes that are gone. A number that is used again, or another machine's, keeps a folder for a day. */
async function removeLeftovers(parent: string, kind: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(kind)) continue;
    const [, host, pid] = /^(.*)\.(\d+)\.[0-9a-f]+$/.exec(name.slice(kind.length)) ?? [];
    const stats = await lstat(join(parent, name)).catch(() => null);
    // Others may put something of that name into a folder that all share.
    if (!stats?.isDirectory() || stats.uid !== process.getuid?.()) continue;
    const isOld = Date.now() - stats.mtimeMs > longestMs;
    const isLeft = host === thisHost() && pid !== undefined && !isThere(Number(pid));
    // One that cannot be removed costs room, and is no reason not to begin.
    if (isOld || isLeft) await remove(join(parent, name)).catch(() => {});
  }
}

function remove(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true, maxRetries: 3 });
}

function thisHost(): string {
  return hostname().replace(/[^A-Za-z0-9-]/g, "-");
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
