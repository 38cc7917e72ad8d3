import { supervisorSocketPath } from "../../../adapter/machine/sandbox-paths.ts";
import { attachToSocket } from "../../../src/wire/attach-to-socket.ts";

/** node attach-process.ts <folder> <seq>: what `adapter attach` does, for a supervisor that has its folder elsewhere. */
const [folder = "", from = "0"] = process.argv.slice(2);
const reportProblem = (line: string): void => void process.stderr.write(`${line}\n`);
const paths = { workspace: "/", home: "/", aimi: folder, layer: folder };
process.exit(
  await attachToSocket(supervisorSocketPath(paths), Number(from), {
    input: process.stdin,
    output: process.stdout,
    reportProblem,
  }),
);
