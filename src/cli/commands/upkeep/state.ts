import type { StoryProgress } from "../../../contract/swarm-state.ts";
import { invalidValue, usageError } from "../../../errors/errors.ts";
import { exitCodes } from "../../../errors/exit-codes.ts";
import { findBranchProblem } from "../../../git/rules/branch-name.ts";
import {
  addWorkerRecord,
  initState,
  removeEndedWorkerRecords,
  removeWorkerRecord,
  updateWorkerRecord,
} from "../../../state/change-state.ts";
import { checkSwarmState, requireSwarmState } from "../../../state/find-state.ts";
import { repairSwarmState } from "../../../state/repair-swarm-state.ts";
import { type ContainerStatus, containerStatuses } from "../../../state/rules/container-status.ts";
import type { RecordChange } from "../../../state/rules/swarm-state.ts";
import { formatCount } from "../../../text/format-count.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";
import { argumentAt, type CommandHandler, type CommandOptions, textOption } from "../../flags/command.ts";
import { describeRecordCorrection } from "../../render/describe-correction.ts";
import { toJson } from "../../render/to-json.ts";

export const stateInitCommand: CommandHandler = async ({ project, output }, _args, { force }) => {
  const state = await initState(project, { force: force === true });
  output.result(state, () => [`swarm ${state.swarmId}`]);
};

export const stateAddCommand: CommandHandler = async ({ project, output }, args) => {
  // commander has already refused a command line without these arguments.
  const [id, containerName, taskFilePath, branchName] = args as readonly [string, string, string, string];
  const containerId =
    id === "-" ? null : checked("containerId", id, /^[0-9a-f]{12,64}$/, "12 to 64 hexadecimal digits, or -");
  checked("name", containerName, /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/, "letters, digits, _, . and -");
  checked("taskFile", taskFilePath, /^[^\u0000-\u001f]{1,995}\.json$/, "a path that ends in .json");
  const problem = findBranchProblem(branchName, []);
  if (problem !== null)
    throw invalidValue(
      "branch",
      branchName,
      `a branch name that git accepts, for example feat/login; this name ${problem}`,
    );
  const record = await addWorkerRecord(project, { containerName, containerId, taskFilePath, branchName });
  output.result(record, () => [`${record.containerName}\t${record.status}`]);
};

export const stateUpdateCommand: CommandHandler = async ({ project, output }, args, options) => {
  const record = await updateWorkerRecord(project, argumentAt(args, 0), changeFrom(options));
  output.result(record, () => [`${record.containerName}\t${record.status}`]);
};

export const stateRemoveCommand: CommandHandler = async ({ project, output }, args) => {
  const name = argumentAt(args, 0);
  await removeWorkerRecord(project, name);
  output.result({ removed: 1 }, () => [`removed ${sanitizeText(name)}`]);
};

export const stateStatusCommand: CommandHandler = async ({ project, output }) => {
  const state = await requireSwarmState(project);
  output.result(state, () => [toJson(state)]);
};

export const stateListCommand: CommandHandler = async ({ project, output }) => {
  const state = await requireSwarmState(project);
  const rows = state.containers.map(({ containerName, status }) => ({ containerName, status }));
  output.result(rows, () => rows.map((row) => `${row.containerName}\t${row.status}`));
};

export const stateCleanupCommand: CommandHandler = async ({ project, output }) => {
  const removed = await removeEndedWorkerRecords(project);
  // Prints JSON even without `--json`, because users' scripts rely on the format.
  output.result({ removed }, () => [JSON.stringify({ removed })]);
};

export const stateCheckCommand: CommandHandler = async ({ project, output }) => {
  const { state, reconciled, corrections, orphans: strays } = await checkSwarmState(project);
  const orphans = strays.map(({ name }) => name);
  output.result({ swarmId: state?.swarmId ?? null, reconciled, corrections, orphans }, () => [
    state
      ? `swarm ${state.swarmId}: the state file is valid, ${formatCount(state.containers.length, "record")}`
      : "There is no swarm in this worktree.",
    reconciled
      ? "the records were compared with the engine"
      : "not reconciled: no engine answers, so the records were not compared with containers",
    ...corrections.map((correction) => `${correction.container}: ${describeRecordCorrection(correction)}`),
    ...orphans.map(
      (name) => `${sanitizeText(name)}: this container of the project has no record in the state file`,
    ),
  ]);
  const agrees = corrections.length === 0 && orphans.length === 0;
  if (!agrees) output.next("`swarm state repair` corrects the records to match the engine's containers");
  return agrees ? exitCodes.done : exitCodes.conflict;
};

export const stateRepairCommand: CommandHandler = async ({ project, output }, _args, { moved, copied }) => {
  if (moved && copied) throw usageError("--moved and --copied exclude each other");
  const { result, reconciled, adopted, corrected, state } = await repairSwarmState(
    project,
    moved ? "moved" : copied ? "copied" : null,
  );
  output.result({ result, reconciled, adopted, corrected, swarmId: state.swarmId }, () => [
    `${result}: swarm ${state.swarmId}`,
    ...adopted.map((name) => `  ${sanitizeText(name)}: a record of this container was added`),
    ...corrected.map((name) => `  ${sanitizeText(name)}: the record was corrected to match the engine`),
    ...(reconciled ? [] : ["the records were not compared with an engine"]),
  ]);
  output.next("`swarm status`");
};

/** Parses the flags of `swarm state update`, each of which changes the field with the same name. */
const parsers: { readonly [Field in keyof Required<RecordChange>]: (text: string) => RecordChange[Field] } = {
  status: toStatus,
  prUrl: (text) =>
    text === "null"
      ? null
      : checked(
          "--pr-url",
          text,
          /^https?:\/\/[^\s\u0000-\u001f]{1,1990}$/,
          "an http or https address, or null",
        ),
  storyProgress: toProgress,
  acpPid: (text) =>
    text === "null" ? null : Number(checked("--acp-pid", text, /^[1-9]\d{0,9}$/, "a process id, or null")),
  containerId: (text) => checked("--container-id", text, /^[0-9a-f]{12,64}$/, "12 to 64 hexadecimal digits"),
};

function changeFrom(options: CommandOptions): RecordChange {
  const changes = Object.entries(parsers).flatMap(([field, parse]) => {
    const text = textOption(options, field);
    return text === null ? [] : [[field, parse(text)]];
  });
  if (changes.length === 0)
    throw usageError(
      "swarm state update needs at least one of --status, --pr-url, --story-progress, --acp-pid, --container-id",
    );
  return Object.fromEntries(changes);
}

function toStatus(text: string): ContainerStatus {
  const status = containerStatuses.find((known) => known === text);
  if (!status) throw invalidValue("--status", text, `one of ${containerStatuses.join(", ")}`);
  return status;
}

function toProgress(text: string): StoryProgress {
  const expected = 'counts like {"total":3,"completed":1,"failed":0,"inProgress":1,"pending":1}';
  const refuse = (): never => {
    throw invalidValue("--story-progress", text.slice(0, 200), expected);
  };
  let counts: Record<string, unknown> = {};
  try {
    counts = JSON.parse(text);
  } catch {
    refuse();
  }
  const fields = ["total", "completed", "failed", "inProgress", "pending", "skipped"] as const;
  if (
    typeof counts !== "object" ||
    Array.isArray(counts) ||
    counts === null ||
    Object.keys(counts).some((key) => !fields.some((field) => field === key))
  )
    refuse();
  const progress = Object.fromEntries(
    fields.map((field) => [field, field in counts ? counts[field] : 0]),
  ) as Record<(typeof fields)[number], unknown>;
  if (Object.values(progress).some((count) => !Number.isSafeInteger(count) || Number(count) < 0)) refuse();
  return progress as StoryProgress;
}

function checked(name: string, value: string, form: RegExp, expected: string): string {
  if (!form.test(value)) throw invalidValue(name, value, expected);
  return value;
}
