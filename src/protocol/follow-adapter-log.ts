import type { Containers } from "../engine/containers.ts";
import { SwarmError } from "../errors/errors.ts";
import { sanitizeText } from "../text/sanitize-text.ts";
import { LineSplitter } from "../wire/line-splitter.ts";

/** Maximum length of a line of the adapter's log. The adapter itself prints only shorter lines. */
const maxLineLength = 64 * 1024;
const adapterProgram = "/opt/aimi/adapter";

/**
 * Yields the last lines of the adapter's log in a running container, then each new line until the container
 * ends or the caller stops reading. To read the log, runs the program `tail` in the container, and ends it
 * afterwards.
 */
export async function* followAdapterLog(
  containers: Pick<Containers, "exec">,
  { containerId, last }: { readonly containerId: string; readonly last: number },
  signal: AbortSignal,
): AsyncGenerator<string> {
  const command = [adapterProgram, "tail", "--last", String(last), "--follow"];
  await using execution = await containers.exec(
    containerId,
    // Open an input that gets no data: closing the input ends the program.
    { command, user: "0:0", workdir: "/", input: true },
    signal,
  );
  const cutter = new LineSplitter(maxLineLength);
  let lastError = "";
  for await (const { stream, bytes } of execution.output) {
    if (stream === "stderr") lastError = sanitizeText(Buffer.from(bytes).toString());
    else
      for (const line of cutter.split(bytes))
        if (line) yield sanitizeText(Buffer.from(line).toString(), maxLineLength);
  }
  const exit = await execution.exit();
  // If the exit is lost, the container ended, which is the normal case.
  if (exit.kind === "exited" && exit.code !== 0)
    throw new SwarmError("EXEC_FAILED", {
      command: command.join(" "),
      reason: lastError || `exit ${exit.code}`,
    });
}
