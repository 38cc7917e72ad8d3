import { cleanText } from "../domain/clean-text.ts";
import { SwarmError } from "../domain/errors.ts";
import type { Containers } from "../ports/containers.ts";
import { LineCutter } from "../wire/line-cutter.ts";

/** Longer than anything that an adapter tells people. */
const longestLine = 64 * 1024;
const adapterProgram = "/opt/aimi/adapter";

/**
 * What the adapter in a running container tells people: its newest lines, and then what comes, until the container ends or
 * nobody reads any more. The adapter is told when nobody does, and the work in there does not depend on it.
 */
export async function* tailWorker(
  containers: Pick<Containers, "exec">,
  { containerId, last }: { readonly containerId: string; readonly last: number },
  signal: AbortSignal,
): AsyncGenerator<string> {
  const command = [adapterProgram, "tail", "--last", String(last), "--follow"];
  await using execution = await containers.exec(
    containerId,
    // With an input, for its end is what ends the program; nothing is written.
    { command, user: "0:0", workdir: "/", input: true },
    signal,
  );
  const cutter = new LineCutter(longestLine);
  let complaint = "";
  for await (const { stream, bytes } of execution.output) {
    if (stream === "stderr") complaint = cleanText(Buffer.from(bytes).toString());
    else
      for (const line of cutter.cut(bytes))
        if (line) yield cleanText(Buffer.from(line).toString(), longestLine);
  }
  const exit = await execution.exit();
  // That the container ended is the ordinary end.
  if (exit.kind === "exited" && exit.code !== 0)
    throw new SwarmError("EXEC_FAILED", {
      command: command.join(" "),
      reason: complaint || `exit ${exit.code}`,
    });
}
