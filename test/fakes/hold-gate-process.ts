import { kernelGate } from "../../src/state/kernel-gate.ts";

/** node hold-gate-process.ts <folder> <container> <begin|pause>: holds a gate until it is killed. */
const [folder = "", container = "", how = ""] = process.argv.slice(2);
const gate = kernelGate(folder);
await using _held = await (how === "pause" ? gate.pause(container) : gate.begin(container));
process.stdout.write("held\n");
setInterval(() => {}, 60_000);
await new Promise(() => {});
