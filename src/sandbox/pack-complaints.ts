/** A message of `tar` in a sandbox about one file. */
export interface TarComplaint {
  /**
   * `barred`: never leaves a sandbox. `missed`: could not be read and is still in the sandbox. `torn`: changed while it was
   * read, so its copy may be a state that the file never had.
   */
  readonly kind: "barred" | "missed" | "torn";
  readonly path: string;
  readonly reason: string;
}

/** The maximum length of a kept line: the task chooses file names and their length. */
const maxLineLength = 600;

/** Splits a stream of chunks into lines of bounded length and parses each. */
export function complaintLines(take: (complaint: TarComplaint) => void): {
  add(bytes: Uint8Array): void;
  end(): void;
} {
  let line = "";
  const end = (): void => {
    const complaint = parseComplaint(line);
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

/** Parses `tar: ./outputs/a: Cannot open: Permission denied`, of GNU tar or BusyBox; null for lines about no file. */
export function parseComplaint(line: string): TarComplaint | null {
  const [, text] = /^tar: (.+)$/.exec(line) ?? [];
  if (text === undefined || /^(?:Exiting with|Error is not recoverable|error exit delayed)/.test(text))
    return null;
  // A copy: a substring would keep the whole chunk in memory.
  const [, path = "", reason = ""] = /^(?:\.\/)?(.*?): (.+)$/.exec(Buffer.from(text).toString()) ?? [];
  return path === "" ? { kind: "missed", path: ".", reason: text } : { kind: kindOf(reason), path, reason };
}

function kindOf(reason: string): TarComplaint["kind"] {
  if (/^(?:socket|door|pipe) ignored$/.test(reason)) return "barred";
  return /changed as we read it$|removed before we read it$|^File shrank by /.test(reason)
    ? "torn"
    : "missed";
}
