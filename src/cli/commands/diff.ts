import type { WorkDiff } from "../../contract/work-diff.ts";
import { exitCodes } from "../../errors/exit-codes.ts";
import { diffWorker } from "../../swarm/report/diff-worker.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";
import { argumentAt, type CommandHandler } from "../flags/command.ts";
import { lineGroups } from "../render/line-groups.ts";

export const diffCommand: CommandHandler = async ({ project, output, signal }, args, { stat }) => {
  const found = await diffWorker(project, argumentAt(args, 0));
  const { worker, base, ref } = found;
  if (found.kind === "nothing") {
    const document: WorkDiff = {
      worker,
      base,
      commit: null,
      ref,
      changes: null,
      sensitive: { paths: [], isCut: false, deleted: { total: 0, paths: [] } },
    };
    output.result(document, () => []);
    output.note(`No commits of ${worker} were imported into this repository yet.`);
    return exitCodes.done;
  }
  if (output.json) {
    const document: WorkDiff = {
      worker,
      base,
      commit: found.commit,
      ref,
      ...(await found.changes(signal)),
    };
    output.result(document, () => []);
    return exitCodes.done;
  }
  const patch = found.patch(stat === true, signal);
  // Without a terminal, a program such as `git apply` may read the patch, so the patch must stay unchanged.
  if (!output.isTerminal) for await (const bytes of patch) await output.stream({ stream: "stdout", bytes });
  else
    for await (const lines of lineGroups(patch))
      await output.item(null, () => lines.map((line) => output.paint.changed(shown(line))).join("\n"));
  return exitCodes.done;
};

function shown(line: string): string {
  return line
    .split("\t")
    .map((part) => sanitizeText(part, Number.POSITIVE_INFINITY))
    .join("\t");
}
