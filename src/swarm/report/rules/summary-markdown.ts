import type {
  StorySummary,
  SummaryProofCheck,
  SwarmSummary,
  WorkerSummary,
} from "../../../contract/summary.ts";
import { escapeMarkdown, formatCodeBlock, formatInlineCode } from "../../../text/escape-markdown.ts";
import {
  describeCheckEnd,
  describeEarlierAttempt,
  describeMergedBranch,
  describeProof,
  describeProofCheckEnd,
  describeStoryResult,
  describeSwarmTotals,
  describeTimeAndCost,
  describeWeakenedTests,
  describeWorkerChanges,
  describeWorkRef,
  hasMoreDeletedFiles,
} from "./describe-summary.ts";

/** Renders a swarm's summary as a Markdown page. Escapes all text from workers and task files. */
export function summaryMarkdown(summary: SwarmSummary): string {
  const { swarmId, project, createdAt, madeAt, systemCalls, workers, next } = summary;
  const lines = [
    `# Swarm ${escapeMarkdown(swarmId)}`,
    "",
    `Project ${escapeMarkdown(project)}, started ${escapeMarkdown(createdAt)}, summary of ${madeAt}.`,
    "",
    `${escapeMarkdown(describeSwarmTotals(summary))}.`,
    "",
    ...(systemCalls === null ? [] : [`System calls: ${escapeMarkdown(systemCalls)}.`, ""]),
    ...(workers.length === 0 ? ["This swarm has no workers.", ""] : tableOf(workers)),
    ...mergeLines(summary),
    ...workers.flatMap(workerLines),
    ...(next.length === 0 ? [] : ["## Next", "", ...formatCodeBlock(next.join("\n"), "sh"), ""]),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}

function tableOf(workers: readonly WorkerSummary[]): string[] {
  const rows = workers.map((worker) => {
    const done = worker.stories.filter(({ status }) => status === "completed").length;
    const effort = describeTimeAndCost(worker).join(", ");
    const cells = [
      worker.worker,
      worker.status,
      `${done}/${worker.stories.length}`,
      describeWorkRef(worker),
      effort,
    ];
    return `| ${[...cells, worker.reason?.code ?? ""].map((cell) => escapeMarkdown(cell)).join(" | ")} |`;
  });
  return ["| worker | status | stories | work | effort | reason |", "|---|---|---|---|---|---|", ...rows, ""];
}

function mergeLines({ merge }: SwarmSummary): string[] {
  if (merge === null) return [];
  const rows = merge.workers.map(
    ({ worker, outcome, why }) =>
      `| ${[worker, outcome, why].map((cell) => escapeMarkdown(cell)).join(" | ")} |`,
  );
  return [
    "## Merged",
    "",
    `${escapeMarkdown(describeMergedBranch(merge))}.`,
    "",
    "| worker | outcome | why |",
    "|---|---|---|",
    ...rows,
    "",
  ];
}

function workerLines(worker: WorkerSummary): string[] {
  const { title, taskFile, status, attempt, reason, base, stories, next, changes, sensitive } = worker;
  const heading = title === null ? worker.worker : `${worker.worker}: ${title}`;
  const facts = [
    `task file: ${formatInlineCode(taskFile)}`,
    `status: ${status}${attempt > 1 ? `, attempt ${attempt}` : ""}`,
    ...(reason ? [`reason: ${escapeMarkdown(`${reason.code}: ${reason.message}`)}`] : []),
    ...(describeProof(worker) === "" ? [] : [`proof: ${escapeMarkdown(describeProof(worker))}`]),
    ...worker.earlier.map((earlier) => escapeMarkdown(describeEarlierAttempt(earlier))),
    ...(base === null ? [] : [`base commit: ${formatInlineCode(base)}`]),
    ...(describeWorkRef(worker) === "" ? [] : [`work: ${escapeMarkdown(describeWorkRef(worker))}`]),
    ...(changes === null ? [] : [`changes: ${escapeMarkdown(describeWorkerChanges(worker))}`]),
    ...(describeTimeAndCost(worker).length === 0
      ? []
      : [`effort: ${escapeMarkdown(describeTimeAndCost(worker).join(", "))}`]),
  ];
  return [
    `## ${escapeMarkdown(heading)}`,
    "",
    ...facts.map((fact) => `- ${fact}`),
    "",
    ...stories.flatMap(storyLines),
    ...listOf("Tests to review", describeWeakenedTests(worker).map(escapeMarkdown), false),
    ...(worker.proof?.checks ?? []).flatMap(proofLines),
    ...listOf(
      "Commits",
      (changes?.commits ?? []).map(
        ({ id, subject, author }) =>
          `${formatInlineCode(id.slice(0, 10))} ${escapeMarkdown(subject)} (${escapeMarkdown(author)})`,
      ),
      changes?.isCut ?? false,
    ),
    ...listOf(
      "Changed paths to review",
      sensitive.paths.map(
        ({ path, why }) => `${formatInlineCode(path)} ${escapeMarkdown(why.replaceAll("-", " "))}`,
      ),
      sensitive.isCut,
    ),
    ...listOf("Deleted files", sensitive.deleted.paths.map(formatInlineCode), hasMoreDeletedFiles(worker)),
    ...(next.length === 0 ? [] : ["What to do next:", "", ...formatCodeBlock(next.join("\n"), "sh"), ""]),
  ];
}

function proofLines({ command, before, after, output }: SummaryProofCheck): string[] {
  return [
    `Proof ${formatInlineCode(command)} in a fresh sandbox: ${escapeMarkdown(describeProofCheckEnd(after))} after the work, ${escapeMarkdown(describeProofCheckEnd(before))} before the work`,
    "",
    ...(output.trim() === "" ? [] : [...formatCodeBlock(output), ""]),
  ];
}

function storyLines(story: StorySummary): string[] {
  const { id, title, status, commit, checks, unfinished, output, reason } = story;
  const heading = [id, ...(title === null ? [] : [title])].join(" ");
  const facts = [status.replace("_", " "), ...describeTimeAndCost(story)].join(", ");
  // Omits the story's output if it repeats the reason of the failure.
  const words = output !== null && output !== reason?.message ? output : "";
  return [
    `### ${escapeMarkdown(heading)}`,
    "",
    `- ${escapeMarkdown(facts)}${commit === null ? "" : `, commit ${formatInlineCode(commit.slice(0, 10))}`}`,
    ...(reason === null ? [] : [`- ${escapeMarkdown(describeStoryResult(story))}`]),
    ...(unfinished === null
      ? []
      : [`- unfinished work of the failed story: ${formatInlineCode(unfinished)}`]),
    "",
    ...(words === "" ? [] : [...formatCodeBlock(words), ""]),
    ...checks.flatMap((check) => [
      `Check ${formatInlineCode(check.command)}: ${describeCheckEnd(check)}`,
      "",
      ...(check.output.trim() === "" ? [] : [...formatCodeBlock(check.output), ""]),
    ]),
  ];
}

function listOf(title: string, items: readonly string[], isCut: boolean): string[] {
  if (items.length === 0) return [];
  return [`### ${title}`, "", ...items.map((item) => `- ${item}`), ...(isCut ? ["- … and more"] : []), ""];
}
