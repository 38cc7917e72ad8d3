import { isError } from "../../../src/errors/errors.ts";
import { openEngine } from "./engine-at.ts";

/**
 * node begin-programs-process.ts <endpoint> <container>: begins one program after the other in a container, as `swarm shell`
 * does, until SIGTERM; then prints what came of it as JSON.
 */
const [endpoint = "", id = ""] = process.argv.slice(2);
const { containers } = await openEngine(endpoint).open();
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());

const told = { ran: 0, refused: 0, maxMs: 0 };
process.stdout.write("ready\n");
while (!stopping.signal.aborted) {
  const begun = performance.now();
  try {
    await using execution = await containers.exec(id, { command: ["echo", "on"], input: false });
    const output = await Array.fromAsync(execution.output);
    if (output.length > 0) told.ran += 1;
  } catch (error) {
    // It came between a pause and its end, and is told so.
    if (!isError(error, "CONTAINER_NOT_RUNNING")) throw error;
    told.refused += 1;
  }
  told.maxMs = Math.max(told.maxMs, Math.round(performance.now() - begun));
}
process.stdout.write(`${JSON.stringify(told)}\n`);
