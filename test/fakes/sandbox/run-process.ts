// Runs a command as the tests are run, or as plain programs run others.
import { contained, endWithCaller } from "../../../scripts/contain.ts";
import { run } from "../../../scripts/processes.ts";

const [how, program = "", ...args] = process.argv.slice(2);
const isContained = how === "contained";
if (isContained) await endWithCaller();
await run(isContained ? contained([program, ...args]) : [program, ...args]);
