import { writeFile } from "node:fs/promises";
import { removeTemporaryFiles, writeFileDurably } from "../../../src/machine/durable-write.ts";

/** node write-process.ts <file> <durable|plain>: replaces one file again and again until it is killed. */
const [file = "", how = "durable"] = process.argv.slice(2);
const filler = "x".repeat(512 * 1024);
if (how === "durable") await removeTemporaryFiles(file);
for (let generation = 1; ; generation += 1) {
  const content = JSON.stringify({ generation, filler, end: generation });
  if (how === "durable") await writeFileDurably(file, content);
  else await writeFile(file, content);
  if (generation === 1) process.stdout.write("writing\n");
}
