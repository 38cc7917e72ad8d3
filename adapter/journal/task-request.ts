import type { RequestLimits, TaskRequestPayload } from "../../src/contract/acp.ts";
import type { TaskFile } from "../../src/contract/tasks.ts";
import validateScript from "../../src/schema/generated/script-agent.js";
import validateTasks from "../../src/schema/generated/tasks.js";
import { findTaskFileProblems } from "../../src/tasks/rules/task-file-problems.ts";
import { agentKinds } from "../agents/agent-kinds.ts";
import { FatalWorkerError } from "../machine/fatal-worker-error.ts";

interface Validator {
  (value: unknown): boolean;
  errors?: readonly { readonly instancePath: string; readonly message?: string }[] | null;
}

function firstProblem(validate: Validator, value: unknown): string | null {
  if (validate(value)) return null;
  const [first] = validate.errors ?? [];
  return first
    ? `${first.instancePath || "/"} ${first.message ?? "is invalid"}`
    : "the validator reported no details";
}

/**
 * Returns why the adapter cannot execute a task request, even one that matches the JSON schema. Returns null
 * if the adapter can execute it.
 */
export function findTaskRequestProblem({ agent, branchName }: TaskRequestPayload): string | null {
  if (branchName.startsWith("-")) return "/payload/branchName starts with -";
  const kind = agent?.kind ?? "claude";
  if (!agentKinds.includes(kind)) return `/payload/agent/kind ${kind} is not one of ${agentKinds.join(", ")}`;
  if ((kind === "acp" || kind === "command") && !agent?.command)
    return `/payload/agent/command is missing: the agent kind ${kind} needs a program`;
  if (kind !== "script") return null;
  const problem = firstProblem(validateScript as Validator, agent?.script ?? null);
  return problem && `/payload/agent/script${problem}`;
}

/** Validates a task file. Throws `FatalWorkerError` with the first problem in the file. */
export function requireValidTaskFile(value: unknown): TaskFile {
  const problem = firstProblem(validateTasks as Validator, value);
  if (problem) throw new FatalWorkerError("TASK_FILE_INVALID", problem);
  const taskFile = value as TaskFile;
  const [first] = findTaskFileProblems(taskFile);
  if (first) throw new FatalWorkerError("TASK_FILE_INVALID", `${first.pointer} ${first.problem}`);
  return taskFile;
}

/**
 * Returns the task request as JSON with sorted fields. Two requests that differ only in the order of their
 * fields give the same text.
 */
export function serializeCanonicalTaskRequest(payload: TaskRequestPayload): string {
  return JSON.stringify(sorted(payload));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}

type Limits = Required<Omit<RequestLimits, "diskBytes">> & { readonly diskBytes: number | null };

const minute = 60_000;
const defaults: Limits = {
  idleMs: 15 * minute,
  toolMs: 30 * minute,
  storyMs: 60 * minute,
  wallClockMs: 360 * minute,
  checkMs: 10 * minute,
  snapshotMs: minute,
  maxRepairs: 2,
  attempts: 2,
  homeBytes: 1024 ** 3,
  diskBytes: null,
  workFiles: 50_000,
  workBytes: 1024 ** 3,
  workFileBytes: 500 * 1024 ** 2,
};

/**
 * Returns the limits in the task request, with default values for the limits that the request does not set.
 */
export const taskLimitsWithDefaults = ({ limits }: TaskRequestPayload): Limits => ({
  ...defaults,
  ...limits,
});
