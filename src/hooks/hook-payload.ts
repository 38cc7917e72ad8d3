import { readSync } from "node:fs";

/** What Claude Code tells a hook on its standard input, as far as we use it. */
export interface HookPayload {
  readonly cwd: string;
  readonly toolName: string;
  readonly toolInput: Readonly<Record<string, unknown>>;
}

/** Our commands and all that is told with them are far shorter. */
const mostBytes = 256 * 1024;

/** Standard input to its end; null where it is longer than anything that concerns us, or cannot be read. */
export function readInput(): string | null {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for (;;) {
      const piece = Buffer.alloc(64 * 1024);
      const count = readSome(piece);
      if (count === 0) return Buffer.concat(pieces).toString();
      length += count;
      if (length > mostBytes) return null;
      pieces.push(piece.subarray(0, count));
    }
  } catch {
    return null;
  }
}

const [patienceMs, pauseMs] = [2_000, 5];

/** Some give us an input that does not wait for its writer. */
function readSome(piece: Buffer): number {
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    try {
      return readSync(0, piece);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN" || waitedMs >= patienceMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
}

/** Null for what is no call of a tool in a folder. */
export function parsePayload(text: string): HookPayload | null {
  try {
    const { cwd, tool_name: toolName, tool_input: toolInput } = JSON.parse(text);
    if (typeof cwd !== "string" || !cwd.startsWith("/") || typeof toolName !== "string") return null;
    if (typeof toolInput !== "object" || toolInput === null) return null;
    return { cwd, toolName, toolInput };
  } catch {
    return null;
  }
}
