import type { StoryProgress } from "../../contract/swarm-state.ts";
import { SwarmError } from "../../errors/errors.ts";
import { exitCodes } from "../../errors/exit-codes.ts";
import { findBranchProblem } from "../../git/rules/branch-name.ts";
import {
  addWorkerRecord,
  initState,
  removeEndedWorkerRecords,
  removeWorkerRecord,
  updateWorkerRecord,
} from "../../state/change-state.ts";
import { checkSwarmState, requireSwarmState } from "../../state/find-state.ts";
import { repairSwarmState } from "../../state/repair-swarm-state.ts";
import { type ContainerStatus, containerStatuses } from "../../state/rules/container-status.ts";
import type { RecordChange } from "../../state/rules/swarm-state.ts";
import { formatCount } from "../../text/format-count.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";
import { argumentAt, type CommandHandler, type CommandOptions } from "../flags/command.ts";
import { describeRecordCorrection } from "../render/describe-correction.ts";
import { toJson } from "../render/to-json.ts";

export const stateInitCommand: CommandHandler = async ({ project, output }, _args, { force }) => {
  const state = await initState(project, { force: force === true });
  output.result(state, () => [`swarm ${state.swarmId}`]);
  return exitCodes.done;
};

export const stateAddCommand: CommandHandler = async ({ project, output }, args) => {
  const [id, containerName, taskFilePath, branchName] = [0, 1, 2, 3].map((index) =>
    argumentAt(args, index),
  ) as [string, string, string, string];
  const containerId =
    id === "-" ? null : checked("containerId", id, /^[0-9a-f]{12,64}$/, "12 to 64 hexadecimal digits, or -");
  checked("name", containerName, /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/, "letters, digits, _, . and -");
  checked("taskFile", taskFilePath, /^[^\u0000-\u001f]{1,995}\.json$/, "a path that ends in .json");
  const problem = findBranchProblem(branchName, []);
  if (problem !== null)
    throw new SwarmError("INVALID_VALUE", {
      name: "branch",
      value: branchName,
      expected: `a branch name that git accepts, for example feat/login; this name ${problem}`,
    });
  const record = await addWorkerRecord(project, { containerName, containerId, taskFilePath, branchName });
  output.result(record, () => [`${record.containerName}\t${record.status}`]);
  return exitCodes.done;
};

export const stateUpdateCommand: CommandHandler = async ({ project, output }, args, options) => {
  const record = await updateWorkerRecord(project, argumentAt(args, 0), changeFrom(options));
  output.result(record, () => [`${record.containerName}\t${record.status}`]);
  return exitCodes.done;
};

export const stateRemoveCommand: CommandHandler = async ({ project, output }, args) => {
  const name = argumentAt(args, 0);
  await removeWorkerRecord(project, name);
  output.result({ removed: 1 }, () => [`removed ${sanitizeText(name)}`]);
  return exitCodes.done;
};

export const stateStatusCommand: CommandHandler = async ({ project, output }) => {
  const state = await requireSwarmState(project);
  output.result(state, () => [toJson(state)]);
  return exitCodes.done;
};

export const stateListCommand: CommandHandler = async ({ project, output }) => {
  const state = await requireSwarmState(project);
  const rows = state.containers.map(({ containerName, status: now }) => ({ containerName, status: now }));
  output.result(rows, () => rows.map((row) => `${row.containerName}\t${row.status}`));
  return exitCodes.done;
};

export const stateCleanupCommand: CommandHandler = async ({ project, output }) => {
  const removed = await removeEndedWorkerRecords(project);
  // Prints JSON even without `--json`, because users' scripts rely on the format.
  output.result({ removed }, () => [JSON.stringify({ removed })]);
  return exitCodes.done;
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
  if (moved && copied) throw new SwarmError("USAGE", { message: "--moved and --copied exclude each other" });
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
  return exitCodes.done;
};

function changeFrom(options: CommandOptions): RecordChange {
  const {
    status: to,
    prUrl,
    storyProgress,
    acpPid,
    containerId,
  } = options as Record<string, string | undefined>;
  const change: RecordChange = {
    ...(to !== undefined && { status: toStatus(to) }),
    ...(prUrl !== undefined && {
      prUrl:
        prUrl === "null"
          ? null
          : checked(
              "--pr-url",
              prUrl,
              /^https?:\/\/[^\s\u0000-\u001f]{1,1990}$/,
              "an http or https address, or null",
            ),
    }),
    ...(storyProgress !== undefined && { storyProgress: toProgress(storyProgress) }),
    ...(acpPid !== undefined && {
      acpPid:
        acpPid === "null"
          ? null
          : Number(checked("--acp-pid", acpPid, /^[1-9]\d{0,9}$/, "a process id, or null")),
    }),
    ...(containerId !== undefined && {
      containerId: checked("--container-id", containerId, /^[0-9a-f]{12,64}$/, "12 to 64 hexadecimal digits"),
    }),
  };
  if (Object.keys(change).length === 0) {
    throw new SwarmError("USAGE", {
      message:
        "swarm state update needs at least one of --status, --pr-url, --story-progress, --acp-pid, --container-id",
    });
  }
  return change;
}

function toStatus(text: string): ContainerStatus {
  const status = containerStatuses.find((known) => known === text);
  if (!status)
    throw new SwarmError("INVALID_VALUE", {
      name: "--status",
      value: text,
      expected: `one of ${containerStatuses.join(", ")}`,
    });
  return status;
}

function toProgress(text: string): StoryProgress {
  const expected = 'counts like {"total":3,"completed":1,"failed":0,"inProgress":1,"pending":1}';
  const refuse = (): never => {
    throw new SwarmError("INVALID_VALUE", { name: "--story-progress", value: text.slice(0, 200), expected });
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
  if (!form.test(value)) throw new SwarmError("INVALID_VALUE", { name, value, expected });
  return value;
}
