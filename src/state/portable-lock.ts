import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import lockfile from "proper-lockfile";
import { SwarmError } from "../domain/errors.ts";
import { describeHolder } from "../domain/lock-holder.ts";
import type { Lock } from "../ports/lock.ts";
import { parseHolder, thisHolder, unknownHolder } from "./lock-holder.ts";
import { waitFor } from "./wait-for.ts";

const defaultStaleMs = 10_000;

/**
 * The second choice, for network filesystems and platforms without kernel locks (`SWARM_LOCK=portable`). A holder that
 * is paused for longer than `staleMs` loses it, so it is used behind `fencedLock`.
 */
export function portableLock(
  file: string,
  command: string,
  { staleMs = defaultStaleMs }: { staleMs?: number } = {},
): Lock {
  const options = { realpath: false, stale: staleMs };
  return {
    async hold(waitMs, signal) {
      let lost = false;
      const onCompromised = (): void => {
        lost = true;
      };
      await mkdir(dirname(file), { recursive: true });
      const release = await waitFor(
        () => lockfile.lock(file, { ...options, onCompromised }).catch(ifLocked),
        waitMs,
        signal,
      );
      if (!release) {
        const holder = parseHolder(await readFile(file, "utf8").catch(() => ""));
        throw new SwarmError("LOCK_TIMEOUT", { file, waitedMs: waitMs, holder: describeHolder(holder) });
      }
      await writeFile(file, `${JSON.stringify(thisHolder(command, new Date()))}\n`);
      return {
        async confirm() {
          if (lost) throw new SwarmError("LOCK_LOST", { file });
        },
        async [Symbol.asyncDispose]() {
          // Releasing what somebody else has taken meanwhile is not ours to report: confirm() already did.
          await release().catch(() => undefined);
        },
      };
    },

    async holder() {
      const held = await lockfile.check(file, options);
      return held ? (parseHolder(await readFile(file, "utf8").catch(() => "")) ?? unknownHolder) : null;
    },
  };
}

function ifLocked(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ELOCKED") throw error;
}
