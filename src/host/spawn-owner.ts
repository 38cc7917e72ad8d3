import { spawn } from "node:child_process";
import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { SwarmError } from "../domain/errors.ts";

/** What a process that was left in the background says of itself, once. */
type Word =
  | { readonly begun: string | null }
  | { readonly failed: { readonly code: string; readonly details: object } };

/**
 * Starts this very program with other words in a session of its own, so that it goes on when the terminal is closed. Resolves
 * when it has begun; rejects with its error when it has not.
 */
export async function spawnOwner(
  words: readonly string[],
  log: string,
): Promise<{ readonly pid: number; readonly begun: string | null }> {
  const [program] = process.argv.slice(1);
  if (program === undefined) throw new Error("It is not known which program this is");
  await mkdir(dirname(log), { recursive: true });
  await using output = await open(log, "a", 0o600);
  const child = spawn(process.execPath, [...process.execArgv, program, ...words], {
    detached: true,
    stdio: ["ignore", output.fd, output.fd, "ipc"],
  });
  const word = await new Promise<Word>((resolve, reject) => {
    child.once("error", reject);
    child.once("message", (message) => resolve(message as Word));
    // Not at its exit: what it said right before may still be on its way.
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

/** The same error once more: it was one of ours. */
function refailed({ code, details }: { readonly code: string; readonly details: object }): SwarmError {
  return new SwarmError(code as "USAGE", details as { readonly message: string });
}
