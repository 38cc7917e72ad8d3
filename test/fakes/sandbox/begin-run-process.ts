// As `npm test` begins a run: this process for npm, a shell, and a program that runs what lives on if nobody ends it.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const [how = "", ...command] = process.argv.slice(2);
process.title = "npm test";
const program = fileURLToPath(new URL("run-process.ts", import.meta.url));
spawn("sh", ["-c", '"$@"; exit $?', "sh", process.execPath, program, how, ...command], {
  stdio: "ignore",
  env: { ...process.env, npm_lifecycle_event: "test" },
});
