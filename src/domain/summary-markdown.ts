import type { StorySummary, SummaryProofCheck, SwarmSummary, WorkerSummary } from "./generated/summary.ts";
import { codeSpan, fenced, inlineText } from "./markdown-text.ts";
import {
  attemptWords,
  changeWords,
  checkWords,
  hasMoreDeleted,
  mergedWords,
  proofWords,
  ranWords,
  storyWords,
  timeAndCostWords,
  totalWords,
  weakenedWords,
  workWords,
} from "./summary-words.ts";

/** Renders a summary as a Markdown page. All text from workers and task files is escaped. */
export function summaryMarkdown(summary: SwarmSummary): string {
  const { swarmId, project, createdAt, madeAt, systemCalls, workers, next } = summary;
  const lines = [
    `# Swarm ${inlineText(swarmId)}`,
    "",
    `Project ${inlineText(project)}, started ${inlineText(createdAt)}, summary of ${madeAt}.`,
    "",
    `${inlineText(totalWords(summary))}.`,
    "",
    ...(systemCalls === null ? [] : [`System calls: ${inlineText(systemCalls)}.`, ""]),
    ...(workers.length === 0 ? ["This swarm has no workers.", ""] : tableOf(workers)),
    ...mergeLines(summary),
    ...workers.flatMap(workerLines),
    ...(next.length === 0 ? [] : ["## Next", "", ...fenced(next.join("\n"), "sh"), ""]),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}

function tableOf(workers: readonly WorkerSummary[]): string[] {
  const rows = workers.map((worker) => {
    const done = worker.stories.filter(({ status }) => status === "completed").length;
    const effort = timeAndCostWords(worker).join(", ");
    const cells = [
      worker.worker,
      worker.status,
      `${done}/${worker.stories.length}`,
      workWords(worker),
      effort,
    ];
    return `| ${[...cells, worker.reason?.code ?? ""].map((cell) => inlineText(cell)).join(" | ")} |`;
  });
  return ["| worker | status | stories | work | effort | reason |", "|---|---|---|---|---|---|", ...rows, ""];
}

function mergeLines({ merge }: SwarmSummary): string[] {
  if (merge === null) return [];
  const rows = merge.workers.map(
    ({ worker, outcome, why }) => `| ${[worker, outcome, why].map((cell) => inlineText(cell)).join(" | ")} |`,
  );
  return [
    "## Merged",
    "",
    `${inlineText(mergedWords(merge))}.`,
    "",
    ...["| worker | outcome | why |", "|---|---|---|", ...rows, ""],
  ];
}

function workerLines(worker: WorkerSummary): string[] {
  const { title, taskFile, status, attempt, reason, base, stories, next, changes, sensitive } = worker;
  const heading = title === null ? worker.worker : `${worker.worker}: ${title}`;
  const facts = [
    `task file: ${codeSpan(taskFile)}`,
    `status: ${status}${attempt > 1 ? `, attempt ${attempt}` : ""}`,
    ...(reason ? [`reason: ${inlineText(`${reason.code}: ${reason.message}`)}`] : []),
    ...(proofWords(worker) === "" ? [] : [`proof: ${inlineText(proofWords(worker))}`]),
    ...worker.earlier.map((earlier) => inlineText(attemptWords(earlier))),
    ...(base === null ? [] : [`base commit: ${codeSpan(base)}`]),
    ...(workWords(worker) === "" ? [] : [`work: ${inlineText(workWords(worker))}`]),
    ...(changes === null ? [] : [`changes: ${inlineText(changeWords(worker))}`]),
    ...(timeAndCostWords(worker).length === 0
      ? []
      : [`effort: ${inlineText(timeAndCostWords(worker).join(", "))}`]),
  ];
  return [
    `## ${inlineText(heading)}`,
    "",
    ...facts.map((fact) => `- ${fact}`),
    "",
    ...stories.flatMap(storyLines),
    ...listOf("Tests to review", weakenedWords(worker).map(inlineText), false),
    ...(worker.proof?.checks ?? []).flatMap(proofLines),
    ...listOf(
      "Commits",
      (changes?.commits ?? []).map(
        ({ id, subject, author }) =>
          `${codeSpan(id.slice(0, 10))} ${inlineText(subject)} (${inlineText(author)})`,
      ),
      changes?.isCut ?? false,
    ),
    ...listOf(
      "Changed paths to review",
      sensitive.paths.map(({ path, why }) => `${codeSpan(path)} ${inlineText(why.replaceAll("-", " "))}`),
      sensitive.isCut,
    ),
    ...listOf("Deleted files", sensitive.deleted.paths.map(codeSpan), hasMoreDeleted(worker)),
    ...(next.length === 0 ? [] : ["What to do next:", "", ...fenced(next.join("\n"), "sh"), ""]),
  ];
}

function proofLines({ command, before, after, output }: SummaryProofCheck): string[] {
  return [
    `Proof ${codeSpan(command)}: ${inlineText(ranWords(after))} in a fresh sandbox, ${inlineText(ranWords(before))} before the work`,
    "",
    ...(output.trim() === "" ? [] : [...fenced(output), ""]),
  ];
}

function storyLines(story: StorySummary): string[] {
  const { id, title, status, commit, checks, unfinished, output, reason } = story;
  const heading = [id, ...(title === null ? [] : [title])].join(" ");
  const facts = [status.replace("_", " "), ...timeAndCostWords(story)].join(", ");
  // Omits the story's output if it repeats the reason of the failure.
  const words = output !== null && output !== reason?.message ? output : "";
  return [
    `### ${inlineText(heading)}`,
    "",
    `- ${inlineText(facts)}${commit === null ? "" : `, commit ${codeSpan(commit.slice(0, 10))}`}`,
    ...(reason === null ? [] : [`- ${inlineText(storyWords(story))}`]),
    ...(unfinished === null ? [] : [`- unfinished work of the failed story: ${codeSpan(unfinished)}`]),
    "",
    ...(words === "" ? [] : [...fenced(words), ""]),
    ...checks.flatMap((check) => [
      `Check ${codeSpan(check.command)}: ${checkWords(check)}`,
      "",
      ...(check.output.trim() === "" ? [] : [...fenced(check.output), ""]),
    ]),
  ];
}

function listOf(title: string, items: readonly string[], isCut: boolean): string[] {
  if (items.length === 0) return [];
  return [`### ${title}`, "", ...items.map((item) => `- ${item}`), ...(isCut ? ["- … and more"] : []), ""];
}
