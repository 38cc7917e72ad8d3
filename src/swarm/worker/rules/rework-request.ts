import type { MergedWorker, MergeReport, RanCheck } from "../../../contract/merge.ts";
import type { ProofReport } from "../../../contract/proof.ts";
import type { ContainerRecord } from "../../../contract/swarm-state.ts";
import type { JournalledMessage } from "../../../protocol/rules/protocol-messages.ts";
import { sanitizeLines, sanitizeText } from "../../../text/sanitize-text.ts";

/**
 * The order to rework a story of a task in the worker's next attempt, with the reason, and with further
 * checks in addition to the task's own.
 */
export interface ReworkRequest {
  readonly storyId: string;
  readonly message: string;
  /** True if the previous attempt's changes are still in the repository; false if swarm discarded them. */
  readonly isKept: boolean;
  readonly checks: readonly string[];
}

/**
 * A rework request that is stored for a worker's next attempt. It applies only if that attempt starts from
 * `commit`.
 */
export interface StoredReworkRequest extends ReworkRequest {
  readonly commit: string;
}

const maxOutputLength = 6_000;

/**
 * Creates the rework request for a worker whose result failed a check in a fresh sandbox. Returns null if
 * the report's verdict is not `broken`.
 */
export function reworkRequestFromProof(
  { checks, stories, verdict }: ProofReport,
  record: Pick<ContainerRecord, "stories">,
): ReworkRequest | null {
  const isBroken = ({ isDemanded, before, after }: ProofReport["checks"][number]): boolean =>
    after.exitCode !== 0 && (isDemanded || before.exitCode === 0);
  const [first] = checks.filter(isBroken);
  if (verdict !== "broken" || !first) return null;
  const before =
    first.before.exitCode === 0
      ? "The check passed before your work."
      : "The check also failed before your work.";
  const message = `A check failed in a fresh sandbox, which contains only committed files. ${before}

${ranWords(first.command, first.after)}

Your changes are still in the repository.`;
  // If a check belongs to several stories, the last of them is reworked: its commit contains the others.
  const owners = stories.filter(({ checks: own }) => own.includes(first.command)).map(({ id }) => id);
  const storyId = owners.length < stories.length ? (owners.at(-1) ?? lastStory(record)) : lastStory(record);
  return storyId === null ? null : { storyId, message, isKept: true, checks: [first.command] };
}

/**
 * Creates the rework request for a result that `swarm merge` left out. In the next attempt, the agent starts
 * from a merge of this result with the branch.
 */
export function reworkRequestFromMerge(
  { reason, with: others, check }: MergedWorker,
  {
    command,
    failsOnBase,
    branch,
    conflicts,
    record,
  }: {
    readonly command: string | null;
    /** True if the check command fails on the branch even without any of the merged results. */
    readonly failsOnBase: boolean;
    readonly branch: string;
    /** The paths of the files in which the worker's result conflicts with the branch. */
    readonly conflicts: readonly string[];
    readonly record: Pick<ContainerRecord, "stories">;
  },
): ReworkRequest | null {
  const storyId = lastStory(record);
  if (storyId === null) return null;
  const beside = others.length > 0 ? ` (especially ${others.join(", ")})` : "";
  const parts = [
    `swarm merged your work with other workers' work on the branch ${sanitizeText(branch)}${beside}. Your working tree now contains the merge.`,
    ...(reason
      ? [`swarm could not merge your work without changes: ${sanitizeText(reason.message, 1_000)}.`]
      : []),
    ...(conflicts.length > 0
      ? [
          `Git could not merge these files and left conflict markers in them:\n${conflicts
            .slice(0, 100)
            .map((path) => `- ${sanitizeText(path)}`)
            .join("\n")}\nResolve the conflicts so that the intention of both sides is kept.`,
        ]
      : []),
    ...(check !== null && check.exitCode !== 0 && command !== null
      ? [`A check failed on the merge. ${ranWords(command, check)}`]
      : []),
  ];
  const checks = [...(command === null || failsOnBase ? [] : [command]), ...withoutMarkers(conflicts)];
  return { storyId, message: parts.join("\n\n"), isKept: true, checks };
}

const maxCheckLength = 3_500;

/**
 * Returns a check command that fails if one of these files still contains conflict markers. The other checks
 * would miss markers in files that no test reads.
 */
function withoutMarkers(conflicts: readonly string[]): string[] {
  let command = "! git grep -qE '^(<<<<<<<|>>>>>>>) ' --";
  for (const path of conflicts) {
    const more = ` ':(literal)${path.replaceAll("'", "'\\''")}'`;
    if (command.length + more.length > maxCheckLength) break;
    command += more;
  }
  return conflicts.length === 0 ? [] : [command];
}

/** Creates the rework request for a story that failed, from the adapter's message about the failure. */
export function reworkRequestFromFailure(
  said: JournalledMessage & { readonly type: "progress-update" },
): ReworkRequest {
  const { storyId, output, reason, checks = [] } = said.payload;
  const failed = checks.find(({ exitCode }) => exitCode !== 0);
  const why = reason ? `${reason.code}: ${reason.message}` : output;
  const message = [
    `The previous attempt failed: ${sanitizeText(why, 2_000)}`,
    ...(failed ? [ranWords(failed.command, failed)] : []),
    "swarm discarded the changes of that attempt: the repository is in the state that it had before this story.",
  ].join("\n\n");
  return { storyId, message, isKept: false, checks: [] };
}

function ranWords(command: string, { exitCode, output }: Pick<RanCheck, "exitCode" | "output">): string {
  const end = exitCode === null ? "the command did not end in time" : `exit ${exitCode}`;
  const shown = sanitizeLines(output).trim().slice(-maxOutputLength) || "(nothing)";
  return `Command (${end}): \`${sanitizeText(command, 2_000)}\`

The end of its output:
\`\`\`
${shown}
\`\`\``;
}

function lastStory({ stories }: Pick<ContainerRecord, "stories">): string | null {
  return stories.at(-1)?.id ?? null;
}

/**
 * Finds the entry of a worker in a merge's report. Returns null if the merge did not leave out the worker's
 * result.
 */
export function findResultExcludedFromMerge(report: MergeReport | null, worker: string): MergedWorker | null {
  return report?.workers.find((each) => each.worker === worker && each.outcome === "set aside") ?? null;
}
