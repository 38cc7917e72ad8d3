import type { StorySummary, SummaryCheck, SwarmSummary, WorkerSummary } from "../../contract/summary.ts";
import {
  describeCheckEnd,
  describeDeletedFiles,
  describeEarlierAttempt,
  describeMergedBranch,
  describeProof,
  describeStoryResult,
  describeSwarmTotals,
  describeTimeAndCost,
  describeWeakenedTests,
  describeWorkerChanges,
  describeWorkRef,
} from "../../swarm/report/rules/describe-summary.ts";
import { sanitizeLines, sanitizeText } from "../../text/sanitize-text.ts";

/** How many lines to show from the end of a check's output: ten if the check failed, one if it passed. */
const [failedLines, passedLines] = [10, 1];
const maxCommits = 10;

/** Renders a swarm's summary as text: first the swarm as a whole, then each worker with its stories. */
export function summaryLines(summary: SwarmSummary): string[] {
  const { swarmId, createdAt, systemCalls, workers } = summary;
  return [
    sanitizeText(`swarm ${swarmId}, started at ${createdAt}`),
    sanitizeText(describeSwarmTotals(summary)),
    ...(systemCalls === null ? [] : [sanitizeText(`system calls: ${systemCalls}`)]),
    ...(summary.merge === null ? [] : mergeLines(summary.merge)),
    ...workers.flatMap((worker) => ["", ...workerLines(worker)]),
  ];
}

function mergeLines(merge: NonNullable<SwarmSummary["merge"]>): string[] {
  const aside = merge.workers.filter(({ outcome }) => outcome === "set aside");
  return [
    sanitizeText(`merged: ${describeMergedBranch(merge)}`, 1_000),
    ...indented(aside.map(({ worker, why }) => `set aside  ${worker}: ${why}`)),
  ];
}

function workerLines(worker: WorkerSummary): string[] {
  const { status, reason, title, stories, changes, sensitive, next, attempt } = worker;
  const facts = [describeWorkRef(worker), describeWorkerChanges(worker), ...describeTimeAndCost(worker)];
  return [
    sanitizeText(`${status}  ${worker.worker}${attempt > 1 ? ` (attempt ${attempt})` : ""}`),
    ...indented([
      title ?? "",
      reason === null ? "" : `${reason.code}: ${reason.message}`,
      facts.filter((fact) => fact !== "").join(", "),
      describeProof(worker),
      ...worker.earlier.map(describeEarlierAttempt),
      ...worker.denied.map((words) => `the worker ${words}`),
    ]),
    ...stories.flatMap(storyLines),
    ...indented([
      ...(changes?.commits ?? [])
        .slice(-maxCommits)
        .map(({ id, subject, author }) => `commit ${id.slice(0, 10)} ${subject} (${author})`),
      ...sensitive.paths.map(({ path, why }) => `review ${path} (${why.replaceAll("-", " ")})`),
      sensitive.isCut ? "more changed files need review: `swarm diff` shows them" : "",
      ...describeDeletedFiles(worker),
      ...describeWeakenedTests(worker),
      ...next.map((command) => `next: ${command}`),
    ]),
  ];
}

function storyLines(story: StorySummary): string[] {
  const { id, title, status, commit, checks, unfinished } = story;
  const facts = [...(commit === null ? [] : [commit.slice(0, 10)]), ...describeTimeAndCost(story)];
  const words = describeStoryResult(story);
  return [
    ...indented([
      [
        `${status.replace("_", " ")}  ${id}`,
        title === null ? "" : ` ${title}`,
        facts.length === 0 ? "" : ` (${facts.join(", ")})`,
        words === "" ? "" : `: ${words}`,
      ].join(""),
    ]),
    ...indented(
      [
        ...checks.flatMap(checkLines),
        unfinished === null ? "" : `unfinished changes of the failed story: ${unfinished}`,
      ],
      4,
    ),
  ];
}

function checkLines(check: SummaryCheck): string[] {
  const { command, exitCode, output } = check;
  const lines = sanitizeLines(output)
    .split("\n")
    .filter((line) => line.trim() !== "");
  return [
    `check ${command}: ${describeCheckEnd(check)}`,
    ...lines.slice(exitCode === 0 ? -passedLines : -failedLines).map((line) => `| ${line}`),
  ];
}

function indented(lines: readonly string[], depth = 2): string[] {
  return lines
    .filter((line) => line !== "")
    .map((line) => `${" ".repeat(depth)}${sanitizeText(line, 2_000)}`);
}
