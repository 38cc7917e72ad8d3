import { spawn } from "node:child_process";
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { SwarmError } from "../domain/errors.ts";

/** The one message of a background process about its start. */
type Word =
  | { readonly begun: string | null }
  | { readonly failed: { readonly code: string; readonly details: object } };

/**
 * Starts this program with other arguments in a session of its own, so that it keeps running when the
 * terminal is closed. Resolves when it reports its start, and rejects with its error when the start fails.
 */
export async function spawnOwner(
  words: readonly string[],
  log: string,
): Promise<{ readonly pid: number; readonly begun: string | null }> {
  const [program] = process.argv.slice(1);
  if (program === undefined) throw new Error("The path of this program is not known");
  await mkdir(dirname(log), { recursive: true });
  await using output = await open(log, "a", 0o600);
  const child = spawn(process.execPath, [...process.execArgv, program, ...words], {
    detached: true,
    stdio: ["ignore", output.fd, output.fd, "ipc"],
  });
  const word = await new Promise<Word>((resolve, reject) => {
    child.once("error", reject);
    child.once("message", (message) => resolve(message as Word));
    // Not `exit`: a message sent right before it may still be in the channel.
    child.once("close", (code, signal) =>
      reject(new SwarmError("OWNER_ENDED", { log, how: signal ?? `code ${code}` })),
    );
  });
  child.removeAllListeners();
  if (child.connected) child.disconnect();
  child.unref();
  if ("failed" in word) throw refailed(word.failed);
  return { pid: child.pid ?? 0, begun: word.begun };
}

/** Rebuilds the SwarmError of the background process. */
function refailed({ code, details }: { readonly code: string; readonly details: object }): SwarmError {
  return new SwarmError(code as "USAGE", details as { readonly message: string });
}
