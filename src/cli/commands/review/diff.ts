import type { WorkDiff } from "../../../contract/work-diff.ts";
import { diffWorker } from "../../../swarm/report/diff-worker.ts";
import { sanitizeLines } from "../../../text/sanitize-text.ts";
import { argumentAt, type CommandHandler } from "../../flags/command.ts";
import { lineGroups } from "../../render/line-groups.ts";

export const diffCommand: CommandHandler = async ({ project, output, signal }, args, { stat }) => {
  const found = await diffWorker(project, argumentAt(args, 0));
  const { worker, base, ref } = found;
  const print = (document: WorkDiff): void => output.result(document);
  if (found.kind === "nothing") {
    print({
      worker,
      base,
      commit: null,
      ref,
      changes: null,
      sensitive: { paths: [], isCut: false, deleted: { total: 0, paths: [] } },
    });
    output.note(`No commits of ${worker} were imported into this repository yet.`);
    return;
  }
  if (output.json) {
    print({ worker, base, commit: found.commit, ref, ...(await found.changes(signal)) });
    return;
  }
  const patch = found.patch(stat === true, signal);
  // Without a terminal, a program such as `git apply` may read the patch, so the patch must stay unchanged.
  if (!output.isTerminal) for await (const bytes of patch) await output.stream({ stream: "stdout", bytes });
  else
    for await (const lines of lineGroups(patch))
      await output.item(null, () =>
        lines.map((line) => output.paint.changed(sanitizeLines(line))).join("\n"),
      );
};
