import { kernelPauseLock } from "../../../src/machine/locks/kernel-pause-lock.ts";

/** node hold-gate-process.ts <folder> <container> <lockForStart|lockForPause>: holds a gate until it is killed. */
const [folder = "", container = "", how = ""] = process.argv.slice(2);
const gate = kernelPauseLock(folder);
await using _held = await (how === "lockForPause"
  ? gate.lockForPause(container)
  : gate.lockForStart(container));
process.stdout.write("held\n");
setInterval(() => {}, 60_000);
await new Promise(() => {});
