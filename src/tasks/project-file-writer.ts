import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import { resolvesInsideFolder } from "../machine/path-containment.ts";
import type { ProjectFileWriter } from "./project-files-port.ts";

/**
 * Creates new files in the user's repository, and appends missing lines to files. Never overwrites existing
 * content.
 */
export function createNewFilesWriter(root: string): ProjectFileWriter {
  return {
    async writeIfAbsent(file, content) {
      const path = await locate(root, file);
      await mkdir(dirname(path), { recursive: true }).catch(explain(path));
      try {
        await writeFile(path, content, { flag: "wx" });
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
        return explain(path)(error);
      }
    },

    async addMissingLines(file, lines) {
      const path = await locate(root, file);
      await mkdir(dirname(path), { recursive: true }).catch(explain(path));
      const present = await readFile(path, "utf8").catch(() => "");
      const known = new Set(present.split("\n").map((line) => line.trim()));
      const missing = lines.filter((line) => !known.has(line));
      if (missing.length === 0) return false;
      const separator = present === "" || present.endsWith("\n") ? "" : "\n";
      await appendFile(path, `${separator}${missing.join("\n")}\n`).catch(explain(path));
      return true;
    },
  };
}

function explain(path: string): (error: unknown) => never {
  return (error) => {
    throw new SwarmError("FILE_UNWRITABLE", { file: path, reason: (error as Error).message }, error);
  };
}

async function locate(root: string, file: string): Promise<string> {
  const path = join(root, file);
  if (await resolvesInsideFolder(root, path)) return path;
  throw new SwarmError("FILE_UNWRITABLE", {
    file,
    reason: "a link in this path points outside the repository",
  });
}
