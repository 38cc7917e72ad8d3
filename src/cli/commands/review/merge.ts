import type { MergeReport } from "../../../contract/merge.ts";
import { invalidValue } from "../../../errors/errors.ts";
import { exitCodes } from "../../../errors/exit-codes.ts";
import {
  describeMergeOutcome,
  formatFileList,
  hasCheckFailedOnBase,
} from "../../../swarm/merge/rules/describe-merge.ts";
import { type MergeRequest, mergeSwarm } from "../../../swarm/merge-swarm.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";
import { type CommandHandler, variadicArgumentAt } from "../../flags/command.ts";
import { alignTable } from "../../render/table.ts";

export const mergeCommand: CommandHandler = async ({ project, output, signal }, args, { into, check }) => {
  const request: MergeRequest = {
    workers: variadicArgumentAt(args, 0),
    into: into === undefined ? null : String(into),
    // commander sets `check` to false for `--no-check`, and to true if the user gave neither flag.
    check: typeof check === "string" ? asked(check) : check === false ? asked(null) : { kind: "recognised" },
  };
  const report = await output.during("Merging the results", (onStep) =>
    mergeSwarm(project, request, onStep, signal),
  );
  output.result(report, () => linesOf(report));
  const aside = report.workers.filter(({ outcome }) => outcome === "set aside");
  for (const { worker, check: ran } of aside)
    if (ran !== null && ran.output !== "")
      output.note(sanitizeText(`the last output of the check of ${worker}: ${ran.output}`, 2_000));
  if (report.exists)
    output.next(`\`git merge ${report.branch}\` merges this branch into your current branch`);
  const [first] = aside;
  if (first) output.next(`\`swarm diff ${first.worker}\` shows the changes of the worker that was set aside`);
  return aside.length > 0 ? exitCodes.conflict : exitCodes.done;
};

function asked(command: string | null): MergeRequest["check"] {
  if (command !== null && command.trim() === "") throw invalidValue("--check", command, "a command");
  return { kind: "asked", command };
}

function linesOf({ workers, branch, exists, tip, moved, check, forecast }: MergeReport): string[] {
  if (workers.length === 0) return ["No worker has a result that could be merged."];
  const rows = workers.map((each) => [
    each.worker,
    each.outcome,
    (each.mergedAs ?? each.commit ?? "").slice(0, 10),
    describeMergeOutcome(each, check),
  ]);
  const conflicts = forecast.map(
    ({ one, other, files }) => `${one} and ${other} conflict in ${formatFileList(files)}`,
  );
  const how = moved ? "is at" : "stays at";
  return [
    ...alignTable(rows),
    "",
    ...conflicts.map((line) => sanitizeText(line, 1_000)),
    sanitizeText(exists ? `${branch} ${how} ${tip.slice(0, 10)}` : `Nothing was merged into ${branch}.`),
    sanitizeText(
      check.command === null ? "No result was checked." : `Each result was checked with: ${check.command}`,
      1_000,
    ),
    ...(hasCheckFailedOnBase(check)
      ? ["The check also fails without these results, so its failure says nothing about them."]
      : []),
  ];
}
