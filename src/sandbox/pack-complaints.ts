/** What `tar` in a sandbox said of one file. */
export interface Complaint {
  /**
   * `barred` never leaves a sandbox; `missed` is still in there; `torn` was written to while it was read, so that what came
   * out may be no state that it ever had.
   */
  readonly kind: "barred" | "missed" | "torn";
  readonly path: string;
  readonly reason: string;
}

/** More of a line is not kept: a name can be as long as its task likes. */
const longestLine = 600;

/** Cuts what a program writes into lines of bounded length, however many there are and wherever the pieces end. */
export function complaintLines(take: (complaint: Complaint) => void): {
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
      line = (line + first).slice(0, longestLine);
      for (const other of others) {
        end();
        line = other.slice(0, longestLine);
      }
    },
  };
}

/** `tar: ./outputs/a: Cannot open: Permission denied`, in the words of GNU or of BusyBox; null for what is about no file. */
export function parseComplaint(line: string): Complaint | null {
  const [, said] = /^tar: (.+)$/.exec(line) ?? [];
  if (said === undefined || /^(?:Exiting with|Error is not recoverable|error exit delayed)/.test(said))
    return null;
  // A copy, for a part of a text keeps the whole of it alive.
  const [, path = "", reason = ""] = /^(?:\.\/)?(.*?): (.+)$/.exec(Buffer.from(said).toString()) ?? [];
  return path === "" ? { kind: "missed", path: ".", reason: said } : { kind: kindOf(reason), path, reason };
}

function kindOf(reason: string): Complaint["kind"] {
  if (/^(?:socket|door|pipe) ignored$/.test(reason)) return "barred";
  return /changed as we read it$|removed before we read it$|^File shrank by /.test(reason)
    ? "torn"
    : "missed";
}
