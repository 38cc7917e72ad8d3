import { createHash } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { privateEngine } from "../src/engine/private/private-engine.ts";
import { isError } from "../src/errors/errors.ts";
import { kernelLock } from "../src/machine/locks/kernel-lock.ts";
import type { HeldLock } from "../src/machine/locks/lock.ts";
import { type ChosenTests, chooseTests } from "./chosen-tests.ts";
import { contained, endWithCaller } from "./contain.ts";
import { prepareMachine } from "./prepare-machine.ts";
import { root, run } from "./processes.ts";

// Runs the tests. No process, mount or file of a run outlives it, however the run ends.

/** The temporary folder of every run of this clone. A run removes the files that a killed run left there. */
const temporary = join(
  tmpdir(),
  `swarm-tests-${createHash("sha256").update(root).digest("hex").slice(0, 6)}`,
);

await endWithCaller();
process.exitCode = await main(process.argv.slice(2));

async function main(words: readonly string[]): Promise<number> {
  const chosen = choose(words);
  if (chosen === null) return 2;
  await using held = await takeTurn();
  if (held === null) {
    console.error("Another run of this clone's tests goes on. Type the same again when it has ended.");
    return 2;
  }
  await clearKilledRun();
  // The user that agents run as must be able to enter the folder.
  await mkdir(temporary, { mode: 0o711 });
  try {
    if (chosen.needsEngine) await prepareMachine();
    const tests = [process.execPath, `${root}/scripts/run-tests.ts`, ...words] as const;
    return await run(contained(tests), { TMPDIR: temporary });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Returns the chosen tests; null, after a message, if the arguments are wrong. */
function choose(words: readonly string[]): ChosenTests | null {
  try {
    return chooseTests(words);
  } catch (error) {
    console.error(`${(error as Error).message}\nusage: npm test [-- NAME… [-t TITLE]], npm run test:full`);
    return null;
  }
}

/** Locks this clone for one run; returns null while another run holds the lock. */
async function takeTurn(): Promise<HeldLock | null> {
  try {
    return await kernelLock(join(root, "node_modules/.cache/tests.lock"), "npm test").acquire(0);
  } catch (error) {
    if (isError(error, "LOCK_TIMEOUT")) return null;
    throw error;
  }
}

/** Removes what a killed run left: its files, and the bridges and firewall rules of its engines. */
async function clearKilledRun(): Promise<void> {
  const files = await readdir(temporary, { recursive: true }).catch(() => []);
  for (const file of files.filter((name) => basename(name) === "engine.json")) {
    const folder = dirname(join(temporary, file));
    const lock = kernelLock(join(folder, "engine.lock"), "npm test");
    const engine = privateEngine({ folder, env: process.env, lock, answers: async () => false });
    await engine.stop({ onStep: () => {} });
  }
  await rm(temporary, { recursive: true, force: true });
}
