import { createHash } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { privateEngine } from "../src/host/private-engine.ts";
import { kernelLock } from "../src/state/kernel-lock.ts";
import { contained, endWithCaller } from "./contain.ts";
import { prepareMachine } from "./prepare-machine.ts";
import { root, run } from "./processes.ts";

// Runs the tests so that none of their processes, mounts, bridges and files outlive the run, however it ends.

/** The temporary folder of every run of this clone, so that a run finds and removes the leftovers of a killed one. */
const temporary = join(
  tmpdir(),
  `swarm-tests-${createHash("sha256").update(root).digest("hex").slice(0, 6)}`,
);

await endWithCaller();
process.exitCode = await main();

async function main(): Promise<number> {
  const held = await kernelLock(`${temporary}.lock`, "npm test")
    .hold(0)
    .catch((error) => error as Error);
  if (held instanceof Error) {
    console.error(
      `Another run of this clone's tests is in progress (${temporary}.lock is held). Wait until it ends, then repeat the command.`,
    );
    return 2;
  }
  await using _alone = held;
  await clearKilledRun();
  // The agent's user must be able to enter it.
  await mkdir(temporary, { mode: 0o711 });
  try {
    await prepareMachine();
    const tests = [process.execPath, `${root}/scripts/run-tests.ts`, ...process.argv.slice(2)] as const;
    return await run(contained(tests), { TMPDIR: temporary });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Removes what a killed run left: bridges and firewall rules of its engines, and files. Its processes and mounts are gone. */
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
