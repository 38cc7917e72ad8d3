/**
 * An error message of `tar` about one file in a sandbox. Swarm parses these messages to find out which files
 * are missing from the archive.
 */
export interface TarErrorMessage {
  /**
   * What happened to the file:
   * - `barred`: swarm never copies such a file out of a sandbox
   * - `missed`: `tar` could not read the file, which is still in the sandbox
   * - `torn`: the file changed while `tar` read it, so the copy may mix old and new content
   */
  readonly kind: "barred" | "missed" | "torn";
  readonly path: string;
  readonly reason: string;
}

/**
 * The maximum number of characters to keep of a line: the task in the sandbox chooses file names and their
 * length.
 */
const maxLineLength = 600;

/** Splits the error output of `tar` into lines of bounded length and parses each line. */
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
 * Parses an error line of GNU tar or BusyBox, such as `tar: ./outputs/a: Cannot open: Permission denied`.
 * Returns null for a line that is no complaint.
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
