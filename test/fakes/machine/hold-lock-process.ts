import { kernelLock } from "../../../src/machine/locks/kernel-lock.ts";
import { portableLock } from "../../../src/machine/locks/portable-lock.ts";

// node hold-lock-process.ts <kernel|portable> <file>: holds the lock until it is killed.
const [kind, file = ""] = process.argv.slice(2);
const lock =
  kind === "kernel" ? kernelLock(file, "swarm test holder") : portableLock(file, "swarm test holder");
const held = await lock.acquire(5_000);
process.stdout.write("held\n");
// Referred to, or the garbage collector would close its file.
setInterval(() => held, 60_000);
