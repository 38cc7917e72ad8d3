/**
 * An error message that `tar` printed about a file in a sandbox. These messages show which files are missing
 * from the tar archive.
 */
export interface TarErrorMessage {
  /**
   * What happened to the file:
   * - `barred`: swarm never copies this kind of file out of a sandbox
   * - `missed`: `tar` could not read the file, so the only copy is still in the sandbox
   * - `torn`: the file changed while `tar` read it, so the copy may mix old and new content
   */
  readonly kind: "barred" | "missed" | "torn";
  readonly path: string;
  readonly reason: string;
}

/**
 * The maximum number of characters to keep of a line of `tar`'s output. A task in the sandbox could create
 * very long file names.
 */
const maxLineLength = 600;

/**
 * Creates a parser for the stderr of `tar`. The parser splits the output into lines, truncates long lines,
 * and parses each line.
 */
export function createTarErrorParser(take: (complaint: TarErrorMessage) => void): {
  add(bytes: Uint8Array): void;
  end(): void;
} {
  let line = "";
  const end = (): void => {
    const complaint = parseTarErrorLine(line);
    line = "";
    if (complaint) take(complaint);
  };
  return {
    end,
    add(bytes) {
      const [first = "", ...others] = Buffer.from(bytes).toString().split("\n");
      line = (line + first).slice(0, maxLineLength);
      for (const other of others) {
        end();
        line = other.slice(0, maxLineLength);
      }
    },
  };
}

/**
 * Parses a line of the stderr of GNU tar or BusyBox tar, such as `tar: ./outputs/a: Cannot open: Permission
 * denied`. Returns null if the line is not about a file.
 */
export function parseTarErrorLine(line: string): TarErrorMessage | null {
  const [, text] = /^tar: (.+)$/.exec(line) ?? [];
  if (text === undefined || /^(?:Exiting with|Error is not recoverable|error exit delayed)/.test(text))
    return null;
  // Parses a copy of the line: a substring of the line would keep the whole chunk in memory.
  const [, path = "", reason = ""] = /^(?:\.\/)?(.*?): (.+)$/.exec(Buffer.from(text).toString()) ?? [];
  return path === "" ? { kind: "missed", path: ".", reason: text } : { kind: kindOf(reason), path, reason };
}

function kindOf(reason: string): TarErrorMessage["kind"] {
  if (/^(?:socket|door|pipe) ignored$/.test(reason)) return "barred";
  return /changed as we read it$|removed before we read it$|^File shrank by /.test(reason)
    ? "torn"
    : "missed";
}
