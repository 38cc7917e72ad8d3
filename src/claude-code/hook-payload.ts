import { readSync } from "node:fs";

/** The fields that swarm uses of the JSON input from Claude Code to a hook. */
export interface HookPayload {
  readonly cwd: string;
  readonly toolName: string;
  readonly toolInput: Readonly<Record<string, unknown>>;
}

/** The maximum size of a hook's input: far more than any call of a `swarm` command needs. */
const maxBytes = 256 * 1024;

/** Reads standard input to its end; returns null if the input is too long or unreadable. */
export function readStandardInput(): string | null {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for (;;) {
      const piece = Buffer.alloc(64 * 1024);
      const count = readSome(piece);
      if (count === 0) return Buffer.concat(pieces).toString();
      length += count;
      if (length > maxBytes) return null;
      pieces.push(piece.subarray(0, count));
    }
  } catch {
    return null;
  }
}

const [timeoutMs, retryMs] = [2_000, 5];

/**
 * Reads the next bytes of standard input. Retries after EAGAIN, because some callers pass a non-blocking
 * standard input.
 */
function readSome(piece: Buffer): number {
  for (let waitedMs = 0; ; waitedMs += retryMs) {
    try {
      return readSync(0, piece);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN" || waitedMs >= timeoutMs) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
    }
  }
}

/** Parses Claude Code's input to a hook about a tool call; returns null for any other input. */
export function parseHookPayload(text: string): HookPayload | null {
  try {
    const { cwd, tool_name: toolName, tool_input: toolInput } = JSON.parse(text);
    if (typeof cwd !== "string" || !cwd.startsWith("/") || typeof toolName !== "string") return null;
    if (typeof toolInput !== "object" || toolInput === null) return null;
    return { cwd, toolName, toolInput };
  } catch {
    return null;
  }
}
