import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { outFolderPath, type SandboxPaths } from "../machine/sandbox-paths.ts";

/**
 * The maximum number of bytes that the adapter stores of one turn's output. A story may have several turns.
 */
const maxBytes = 64 * 1024 * 1024;

/**
 * A file next to the journal with an agent's raw output, for debugging. If the disk is full, the file stops
 * growing, but the work continues.
 */
export interface AgentTranscript extends Disposable {
  add(bytes: Uint8Array): void;
}

export function openAgentTranscript(paths: SandboxPaths, storyId: string): AgentTranscript {
  const folder = `${outFolderPath(paths)}/transcript`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = openSync(`${folder}/${storyId}.ndjson`, "a", 0o600);
  let left = maxBytes;
  return {
    add(bytes) {
      if (left <= 0) return;
      left -= bytes.length;
      try {
        writeSync(file, bytes);
        if (left <= 0)
          writeSync(
            file,
            `\n{"type":"aimi","note":"the rest of the transcript is left out: its limit is ${maxBytes} bytes"}\n`,
          );
      } catch {
        left = 0;
      }
    },
    [Symbol.dispose]: () => closeSync(file),
  };
}
