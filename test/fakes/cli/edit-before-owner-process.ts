import { readFileSync, writeFileSync } from "node:fs";
import { runProgram } from "../../../src/app/run-program.ts";

/** `swarm …`, whose background process finds the task file `EDITED_FILE` edited after its parent planned it. */
const [verb = "", ...rest] = process.argv.slice(2);
const file = process.env["EDITED_FILE"] ?? "";
if (verb === "own") writeFileSync(file, readFileSync(file, "utf8").replace("Planned", "Edited"));

process.exitCode = await runProgram([verb, ...rest]);
