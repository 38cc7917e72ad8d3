/**
 * All error codes that say why a story or a worker failed. The codes never change, because users and scripts
 * depend on them. `by` is the side that reports the code: the adapter in the container, swarm on the host, or
 * either of them.
 */
export const workerErrorCodes = {
  REQUEST_INVALID: {
    by: "adapter",
    meaning: "the request does not match the schema of the worker protocol",
  },
  REQUEST_CONFLICT: {
    by: "adapter",
    meaning:
      "the adapter had already accepted another request; only the sender of the second request receives this error, and the work continues",
  },
  MISSING_ENV_VAR: {
    by: "adapter",
    meaning: "the agent's environment does not contain its credential",
  },
  TASK_FILE_NOT_FOUND: { by: "adapter", meaning: "the repository has no such task file" },
  TASK_FILE_INVALID: { by: "adapter", meaning: "the task file is invalid" },
  GIT_CLONE_FAILED: { by: "adapter", meaning: "the adapter could not unpack the repository" },
  GIT_CHECKOUT_FAILED: {
    by: "adapter",
    meaning: "the adapter could not create the branch, or the repository is damaged",
  },
  AGENT_NOT_FOUND: { by: "adapter", meaning: "the agent's program is not in the image" },
  AGENT_AUTH_FAILED: { by: "adapter", meaning: "the model API refused the credential" },
  AGENT_CRASH: {
    by: "adapter",
    meaning:
      "the agent crashed, the model refused the request, or the agent ended without completing its turn",
  },
  AGENT_STALLED: { by: "adapter", meaning: "the agent showed no output and no activity for too long" },
  AGENT_LIMIT_REACHED: {
    by: "adapter",
    meaning: "the agent reached a limit: turns, budget, time or the model's usage limit",
  },
  VERIFY_FAILED: { by: "adapter", meaning: "a check failed, and the agent could not repair the work" },
  NOTHING_CHANGED: {
    by: "adapter",
    meaning: "the agent changed nothing, and no check proves that the work was already done",
  },
  HISTORY_REWRITTEN: {
    by: "either",
    meaning: "the branch no longer contains the last commit that swarm accepted",
  },
  DEPENDENCY_FAILED: {
    by: "adapter",
    meaning:
      "the story or the worker was skipped, because a story or worker that it depends on was not completed",
  },
  DISK_FULL: { by: "adapter", meaning: "the sandbox's disk is full, or the sandbox reached its disk limit" },
  WORK_TOO_LARGE: {
    by: "adapter",
    meaning:
      "the agent left more files, or larger files, than a task may commit; the message names the files",
  },
  CONTAINER_OOM: { by: "either", meaning: "the sandbox reached its memory limit" },
  PROCESSES_EXHAUSTED: {
    by: "either",
    meaning: "the sandbox reached its limit of processes (`limits.pids`)",
  },
  COLLECT_FAILED: {
    by: "host",
    meaning: "the host could not import the commits, or the commits differ from the adapter's report",
  },
  BASE_CONFLICT: { by: "host", meaning: "the results from which the worker starts conflict with each other" },
  PROOF_FAILED: {
    by: "host",
    meaning:
      "a check failed in a fresh sandbox: the task requires this check, or the check passed before the agent's work",
  },
  CONTAINER_LOST: {
    by: "host",
    meaning: "the container and its volume were removed, but not by swarm",
  },
  INTERRUPTED: { by: "host", meaning: "the worker was interrupted from outside; it can continue" },
  BUDGET_EXCEEDED: {
    by: "host",
    meaning:
      "the budget of the worker or of the swarm is used up; swarm keeps the work, and a retry with a larger budget is possible",
  },
  ACP_CONNECTION_LOST: {
    by: "host",
    meaning:
      "the host received no message from the adapter for too long: the adapter was unreachable or silent",
  },
  ACP_PROTOCOL_VIOLATION: {
    by: "host",
    meaning: "the sandbox sent a message that violates the worker protocol",
  },
  UNKNOWN_ERROR: { by: "either", meaning: "a bug in swarm; the message names its location" },
} as const;

export type WorkerErrorCode = keyof typeof workerErrorCodes;
