import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SwarmError } from "../errors/errors.ts";
import type { Project } from "../project/project.ts";
import { findSwarmState } from "../state/find-state.ts";
import { haveAllWorkersEnded } from "../state/rules/swarm-state.ts";

export interface DetachedOwner {
  readonly swarmId: string;
  readonly pid: number;
  /** The path of the file to which the background owner writes its output. */
  readonly log: string;
}

/**
 * Runs a swarm command in a background process, and waits until the swarm of this command has begun.
 * `planned` are the checksums of the task files that this process planned.
 */
export async function detachOwner(
  project: Pick<Project, "engines" | "identity" | "repository" | "state">,
  words: readonly string[],
  planned: readonly string[],
): Promise<DetachedOwner> {
  const known = await findSwarmState(project);
  const swarmId = known && !haveAllWorkersEnded(known) ? known.swarmId : randomUUID();
  const log = join((await project.repository()).root, ".aimi", "swarms", swarmId, "owner.log");
  const [verb = "", ...rest] = words;
  const checksums = planned.flatMap((each) => ["--planned", each]);
  const own = ["own", verb, "--swarm-id", swarmId, "--progress", "plain", ...checksums, ...rest];
  const { pid, begun } = await spawnOwner(own, log);
  return { pid, swarmId: begun ?? swarmId, log };
}

/** The message that the owner sends to its parent process once, when its start has succeeded or failed. */
type Word =
  | { readonly begun: string | null }
  | { readonly failed: { readonly code: string; readonly details: object } };

/**
 * Starts the owner: this program with other arguments, in a session of its own, so that it survives the
 * closing of the terminal. Resolves when the owner reports its start; throws the owner's error if its start
 * failed.
 */
async function spawnOwner(
  words: readonly string[],
  log: string,
): Promise<{ readonly pid: number; readonly begun: string | null }> {
  const [program] = process.argv.slice(1);
  if (program === undefined) throw new Error("The path of the swarm program is not known");
  await mkdir(dirname(log), { recursive: true });
  await using output = await open(log, "a", 0o600);
  const child = spawn(process.execPath, [...process.execArgv, program, ...words], {
    detached: true,
    stdio: ["ignore", output.fd, output.fd, "ipc"],
  });
  const word = await new Promise<Word>((resolve, reject) => {
    child.once("error", reject);
    child.once("message", (message) => resolve(message as Word));
    // Listen for `close`, not `exit`: at `exit`, the process's last message may still be in the channel.
    child.once("close", (code, signal) =>
      reject(new SwarmError("OWNER_ENDED", { log, how: signal ?? `exit code ${code}` })),
    );
  });
  child.removeAllListeners();
  if (child.connected) child.disconnect();
  child.unref();
  if ("failed" in word) throw refailed(word.failed);
  return { pid: child.pid ?? 0, begun: word.begun };
}

/** Creates the SwarmError from the error that the owner reported. */
function refailed({ code, details }: { readonly code: string; readonly details: object }): SwarmError {
  return new SwarmError(code as "USAGE", details as { readonly message: string });
}
