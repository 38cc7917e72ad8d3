import { createHash } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { privateEngine } from "../src/host/private-engine.ts";
import { kernelLock } from "../src/state/kernel-lock.ts";
import { contained, endWithCaller } from "./contain.ts";
import { prepareMachine } from "./prepare-machine.ts";
import { root, run } from "./processes.ts";

// Runs the tests so that nothing of them outlives their run, however that ends.

/** The temporary folder of all runs of this clone: what one that was killed left there is found by the next. */
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
      `Another run of this clone's tests goes on (${temporary}.lock is held). Wait for its end, then type the same again.`,
    );
    return 2;
  }
  await using _alone = held;
  await clearKilledRun();
  // The user that agents have goes through it.
  await mkdir(temporary, { mode: 0o711 });
  try {
    await prepareMachine();
    const tests = [process.execPath, `${root}/scripts/run-tests.ts`, ...process.argv.slice(2)] as const;
    return await run(contained(tests), { TMPDIR: temporary });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Its processes and mounts went with it; its engines left bridges and rules of the firewall. */
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
