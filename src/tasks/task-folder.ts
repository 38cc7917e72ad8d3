import { createHash } from "node:crypto";
import { open, readdir, realpath, stat } from "node:fs/promises";
import { basename, isAbsolute, join, relative, resolve, sep } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import { ifSystemError } from "../errors/system-errors.ts";
import { resolvesInsideFolder } from "../machine/path-containment.ts";
import type { TaskFolder } from "./project-tasks.ts";

/**
 * The maximum size of a task file in bytes. A task file of this size still fits into one message from the
 * host to an adapter.
 */
const largestTaskFile: number = 8 * 1024 * 1024 - 64 * 1024;

/**
 * Matches names of task files that swarm accepts. A name with other characters, or with a `-` at its start,
 * could confuse a shell, a terminal or an option parser.
 */
const safeName = /^[\p{L}\p{N}_][\p{L}\p{N}._ -]*-tasks\.json$/u;

export function openTaskFolder(root: string): TaskFolder {
  const folder = join(root, ".aimi", "tasks");
  const shown = join(".aimi", "tasks");

  return {
    async list() {
      if (!(await resolvesInsideFolder(root, folder)))
        throw new SwarmError("TASK_FILE_OUTSIDE", { file: shown, folder: "the repository" });
      const names = (await readdir(folder).catch(ifSystemError([], "ENOENT", "ENOTDIR"))).filter((name) =>
        name.endsWith("-tasks.json"),
      );
      const fileNames = names.filter((name) => safeName.test(name));
      return {
        fileNames: await newestFirst(folder, fileNames),
        ignored: names.filter((name) => !safeName.test(name)),
      };
    },

    async read(file) {
      const named = await locate(file, root, folder);
      const fileName = basename(named);
      const path = join(shown, fileName);
      const realPath = await realpath(named).catch(() => null);
      if (realPath === null) throw new SwarmError("TASK_FILE_NOT_FOUND", { file, folder: shown });
      const inside = relative(await realpath(folder).catch(() => folder), realPath);
      const isOutside = inside.startsWith("..") || isAbsolute(inside) || inside.includes(sep);
      if (!(await resolvesInsideFolder(root, realPath)) || isOutside || !safeName.test(fileName))
        throw new SwarmError("TASK_FILE_OUTSIDE", { file, folder: shown });
      const bytes = await readBounded(realPath, path);
      return {
        fileName,
        path,
        realPath,
        sha256: createHash("sha256").update(bytes).digest("hex"),
        bytes,
      };
    },
  };
}

/**
 * Finds a task file by its path relative to the current folder or to the repository's root, or by its name in
 * the task folder.
 */
async function locate(file: string, root: string, folder: string): Promise<string> {
  const candidates = [resolve(file), join(root, file), join(folder, file)];
  for (const candidate of candidates) if (await stat(candidate).catch(() => null)) return candidate;
  return join(folder, file);
}

async function newestFirst(folder: string, names: readonly string[]): Promise<string[]> {
  const dated = await Promise.all(
    names.map(async (name) => {
      const stats = await stat(join(folder, name)).catch(() => null);
      const changedOn = stats?.mtime.toISOString().slice(0, 10) ?? "";
      return { name, date: /^\d{4}-\d{2}-\d{2}/.exec(name)?.[0] ?? changedOn };
    }),
  );
  return dated.sort((a, b) => compare(b.date, a.date) || compare(a.name, b.name)).map(({ name }) => name);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Reads a task file. Throws if the file is too large, or is not a regular file, such as a FIFO. Never reads
 * more than the maximum size, even if the file grows during the read.
 */
async function readBounded(path: string, shown: string): Promise<Uint8Array> {
  const place = { file: shown };
  const stats = await stat(path);
  if (!stats.isFile())
    throw new SwarmError("FILE_UNREADABLE", { place, reason: "the file is not a regular file" });
  if (stats.size > largestTaskFile)
    throw new SwarmError("FILE_TOO_LARGE", { place, bytes: stats.size, limit: largestTaskFile });
  try {
    await using handle = await open(path, "r");
    const bytes = Buffer.alloc(Math.min(stats.size, largestTaskFile));
    const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
    return bytes.subarray(0, bytesRead);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new SwarmError("FILE_UNREADABLE", { place, reason: code ?? message }, error);
  }
}
