import type {
  StorySummary,
  SummaryCheck,
  SummaryMerged,
  SummaryProofCheck,
  SwarmSummary,
  WorkerSummary,
} from "../../../contract/summary.ts";
import { formatDuration } from "../../../text/duration-and-size.ts";
import { escapeHtml } from "../../../text/escape-html.ts";
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
import { summaryStyle } from "./summary-style.ts";
import { computeTimeline, type TimelineBar } from "./timeline.ts";

/**
 * A symbol for each worker and story status, so that readers need not see colours to recognise the status.
 */
const marks: Readonly<Record<WorkerSummary["status"] | StorySummary["status"], string>> = {
  completed: "✔",
  failed: "✘",
  stopped: "■",
  running: "▶",
  pending: "…",
  in_progress: "▶",
  skipped: "–",
};

/**
 * Renders a swarm's summary as a self-contained HTML page, without scripts and external resources. Escapes
 * all text from workers.
 */
export function summaryHtml(summary: SwarmSummary): string {
  const { swarmId, project, createdAt, madeAt, systemCalls, merge, workers, next } = summary;
  const waiting = workers.filter(({ status }) => status === "failed" || status === "stopped");
  const aside = merge?.workers.filter(({ outcome }) => outcome === "set aside") ?? [];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeHtml(`${project}: ${describeSwarmTotals(summary)}`)}</title>
<style>${summaryStyle}</style>
</head>
<body>
<header>
<h1>${escapeHtml(project)}</h1>
<p>${escapeHtml(describeSwarmTotals(summary))}.</p>
<p class="small">Swarm <code>${escapeHtml(swarmId)}</code>, started ${timeTag(createdAt)}, summary of ${timeTag(madeAt)}${systemCalls === null ? "" : `; system calls: ${escapeHtml(systemCalls)}`}</p>
</header>
<main>
${section("Needs your attention", [...waiting.map(waitingItem), ...aside.map(asideItem)], "ul")}
${section("Next", next.map(commandLine))}
${picture(summary)}
${mergePart(summary)}
${section("Workers", workers.map(workerPart))}
</main>
</body>
</html>
`;
}

function section(title: string, parts: readonly string[], list?: "ul"): string {
  if (parts.length === 0) return "";
  const inside = list ? `<${list}>\n${parts.join("\n")}\n</${list}>` : parts.join("\n");
  return `<section>\n<h2>${title}</h2>\n${inside}\n</section>`;
}

/** Renders one list item about a failed or stopped worker, with the reason of the failure or stop. */
function waitingItem({ worker, status, reason }: WorkerSummary): string {
  const why = reason === null ? "" : ` <code>${escapeHtml(reason.code)}</code> ${escapeHtml(reason.message)}`;
  return `<li><a href="#${escapeHtml(worker)}">${escapeHtml(worker)}</a> ${marks[status]} ${status}:${why}</li>`;
}

function asideItem({ worker, why }: SummaryMerged): string {
  const name = escapeHtml(worker);
  return `<li><a href="#${name}">${name}</a> ■ set aside: ${escapeHtml(why)}</li>`;
}

function mergePart({ merge }: SwarmSummary): string {
  if (merge === null) return "";
  const items = merge.workers.map(
    ({ worker, outcome, why }) =>
      `<li><a href="#${escapeHtml(worker)}">${escapeHtml(worker)}</a> ${outcome}${why === "" ? "" : `: ${escapeHtml(why)}`}</li>`,
  );
  return section("Merged", [
    `<p>${escapeHtml(describeMergedBranch(merge))}.</p>`,
    `<ul>\n${items.join("\n")}\n</ul>`,
  ]);
}

function commandLine(command: string): string {
  return `<pre>${escapeHtml(command)}</pre>`;
}

function picture(summary: SwarmSummary): string {
  const timeline = computeTimeline(summary);
  if (timeline === null) return "";
  const { bars, from, to } = timeline;
  return section("Timeline of the workers", [
    `<p class="small">from ${timeTag(from.toISOString())} to ${timeTag(to.toISOString())}, ${escapeHtml(formatDuration(to.getTime() - from.getTime()))}</p>`,
    bars.map(barRow).join("\n"),
  ]);
}

function barRow({ worker, from, width }: TimelineBar): string {
  const { status, workMs } = worker;
  const name = escapeHtml(worker.worker);
  const duration = workMs === null ? "" : escapeHtml(formatDuration(workMs));
  const at = (value: number): string => value.toFixed(1);
  return `<div class="bar"><a href="#${name}">${name}</a>
<svg viewBox="0 0 1000 10" preserveAspectRatio="none" role="img" aria-label="${name}, ${status}, ${duration}"><line x1="0" y1="5" x2="1000" y2="5"/><rect class="${status}" x="${at(from)}" y="0" width="${at(width)}" height="10"/></svg>
<span>${marks[status]} ${status} ${duration}</span></div>`;
}

function workerPart(worker: WorkerSummary): string {
  const { status, title, reason, attempt, taskFile, base, stories, changes, sensitive, next, denied } =
    worker;
  const name = escapeHtml(worker.worker);
  const facts: readonly (readonly [string, string])[] = [
    ["why", reason === null ? "" : `${reason.code}: ${reason.message}`],
    ["attempt", attempt > 1 ? String(attempt) : ""],
    ...worker.earlier.map((earlier) => ["earlier attempt", describeEarlierAttempt(earlier)] as const),
    ["proof", describeProof(worker)],
    ["work", describeWorkRef(worker)],
    ["changes", describeWorkerChanges(worker)],
    ["time and cost", describeTimeAndCost(worker).join(", ")],
    ["task file", taskFile],
    ["base commit", base?.slice(0, 12) ?? ""],
  ];
  const commits = (changes?.commits ?? []).map(
    ({ id, subject, author }) =>
      `<li><code>${escapeHtml(id.slice(0, 10))}</code> ${escapeHtml(subject)} <span class="small">${escapeHtml(author)}</span></li>`,
  );
  const paths = sensitive.paths.map(
    ({ path, why }) => `<li><code>${escapeHtml(path)}</code> ${escapeHtml(why.replaceAll("-", " "))}</li>`,
  );
  const deleted = sensitive.deleted.paths.map((path) => `<li><code>${escapeHtml(path)}</code></li>`);
  // Only workers that need a review are unfolded.
  const weakened = describeWeakenedTests(worker).map((words) => `<li>${escapeHtml(words)}</li>`);
  const isOpen = status !== "completed" || paths.length > 0 || weakened.length > 0;
  return `<details id="${name}"${isOpen ? " open" : ""}>
<summary><b>${name}</b> <span class="${status}">${marks[status]} ${status}</span>${title === null ? "" : ` ${escapeHtml(title)}`}</summary>
<dl>
${facts
  .filter(([, words]) => words !== "")
  .map(([term, words]) => `<dt>${term}</dt><dd>${escapeHtml(words)}</dd>`)
  .join("\n")}
</dl>
${denied.map((words) => `<p>This worker ${escapeHtml(words)}</p>`).join("\n")}
${stories.map(storyPart).join("\n")}
${(worker.proof?.checks ?? []).map(proofPart).join("\n")}
${list("Tests to review", weakened, false)}
${list("Commits", commits, changes?.isCut ?? false)}
${list("Changed paths to review", paths, sensitive.isCut)}
${list("Deleted files", deleted, hasMoreDeletedFiles(worker))}
${next.map(commandLine).join("\n")}
</details>`;
}

function proofPart({ command, before, after, output }: SummaryProofCheck): string {
  return `<p>Proof <code>${escapeHtml(command)}</code> in a fresh sandbox: ${escapeHtml(describeProofCheckEnd(after))} after the work, ${escapeHtml(describeProofCheckEnd(before))} before the work</p>
${output.trim() === "" ? "" : `<pre>${escapeHtml(output.trim())}</pre>`}`;
}

function storyPart(story: StorySummary): string {
  const { id, title, status, commit, checks, unfinished } = story;
  const words = describeStoryResult(story);
  const facts = [...(commit === null ? [] : [commit.slice(0, 10)]), ...describeTimeAndCost(story)];
  return `<article>
<h3>${marks[status]} ${escapeHtml([id, ...(title === null ? [] : [title])].join(" "))} <span class="small">${escapeHtml([status.replace("_", " "), ...facts].join(", "))}</span></h3>
${words === "" ? "" : `<p class="words">${escapeHtml(words)}</p>`}
${unfinished === null ? "" : `<p>Unfinished work of the failed story: <code>${escapeHtml(unfinished)}</code></p>`}
${checks.map(checkPart).join("\n")}
</article>`;
}

function checkPart(check: SummaryCheck): string {
  const output = check.output.trim();
  return `<p>Check <code>${escapeHtml(check.command)}</code> ${escapeHtml(describeCheckEnd(check))}</p>
${output === "" ? "" : `<pre>${escapeHtml(output)}</pre>`}`;
}

function list(title: string, items: readonly string[], isCut: boolean): string {
  if (items.length === 0) return "";
  return `<h3>${title}</h3>\n<ul>\n${items.join("\n")}${isCut ? "\n<li>… and more</li>" : ""}\n</ul>`;
}

function timeTag(time: string): string {
  const shown = time.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d).*$/, "$1 $2 UTC");
  return `<time datetime="${escapeHtml(time)}">${escapeHtml(shown)}</time>`;
}
