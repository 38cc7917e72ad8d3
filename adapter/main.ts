import { probe } from "./probe.ts";

const [command] = process.argv.slice(2);

if (command === "probe") {
  process.stdout.write(`${JSON.stringify(await probe())}\n`);
} else {
  process.stderr.write(`adapter: unknown command ${JSON.stringify(command ?? "")}; known: probe\n`);
  process.exitCode = 2;
}
