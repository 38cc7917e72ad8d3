import { socketOf } from "../../adapter/places.ts";
import { attach } from "../../src/wire/attach.ts";

/** node attach-process.ts <folder> <seq>: what `adapter attach` does, for a supervisor that has its folder elsewhere. */
const [folder = "", from = "0"] = process.argv.slice(2);
const complain = (line: string): void => void process.stderr.write(`${line}\n`);
const paths = { workspace: "/", home: "/", aimi: folder, layer: folder };
process.exit(
  await attach(socketOf(paths), Number(from), { input: process.stdin, output: process.stdout, complain }),
);
