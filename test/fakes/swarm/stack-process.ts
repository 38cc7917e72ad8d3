import { writeFileSync } from "node:fs";
import { runProgram } from "../../../src/app/run-program.ts";

/** `swarm …`, which writes the stack to the file `STACK_FILE` when the owner's loop begins. */
const stackFile = process.env["STACK_FILE"] ?? "";
Error.stackTraceLimit = 100;

process.exitCode = await runProgram(process.argv.slice(2), {
  crashPoint(point) {
    if (point === "owner-loop-begins")
      writeFileSync(stackFile, new Error("the owner's loop begins").stack ?? "");
  },
});
