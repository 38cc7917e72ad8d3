/** The side that reports an error code: the adapter in the container, the host, or either of them. */
export type ErrorCodeProducer = "adapter" | "host" | "either";

export type WorkerErrorCode =
  | "REQUEST_INVALID"
  | "REQUEST_CONFLICT"
  | "MISSING_ENV_VAR"
  | "TASK_FILE_NOT_FOUND"
  | "TASK_FILE_INVALID"
  | "GIT_CLONE_FAILED"
  | "GIT_CHECKOUT_FAILED"
  | "AGENT_NOT_FOUND"
  | "AGENT_AUTH_FAILED"
  | "AGENT_CRASH"
  | "AGENT_STALLED"
  | "AGENT_LIMIT_REACHED"
  | "VERIFY_FAILED"
  | "NOTHING_CHANGED"
  | "HISTORY_REWRITTEN"
  | "DEPENDENCY_FAILED"
  | "DISK_FULL"
  | "WORK_TOO_LARGE"
  | "CONTAINER_OOM"
  | "PROCESSES_EXHAUSTED"
  | "COLLECT_FAILED"
  | "BASE_CONFLICT"
  | "PROOF_FAILED"
  | "CONTAINER_LOST"
  | "INTERRUPTED"
  | "BUDGET_EXCEEDED"
  | "ACP_CONNECTION_LOST"
  | "ACP_PROTOCOL_VIOLATION"
  | "UNKNOWN_ERROR";

interface ErrorCodeFacts {
  readonly by: ErrorCodeProducer;
  readonly meaning: string;
}

/** All codes that say why a story or a worker failed. The codes are stable, because users and scripts match them. */
export const workerErrorCodes: Readonly<Record<WorkerErrorCode, ErrorCodeFacts>> = {
  REQUEST_INVALID: {
    by: "adapter",
    meaning: "the request does not have the form that it must have",
  },
  REQUEST_CONFLICT: {
    by: "adapter",
    meaning:
      "another request was accepted before; only the sender of the second one learns it, and the work continues",
  },
  MISSING_ENV_VAR: {
    by: "adapter",
    meaning: "the agent's credential is not in its environment",
  },
  TASK_FILE_NOT_FOUND: { by: "adapter", meaning: "the repository has no such task file" },
  TASK_FILE_INVALID: { by: "adapter", meaning: "the task file is not what it should be" },
  GIT_CLONE_FAILED: { by: "adapter", meaning: "the repository could not be unpacked" },
  GIT_CHECKOUT_FAILED: {
    by: "adapter",
    meaning: "the branch could not be made, or the repository was destroyed",
  },
  AGENT_NOT_FOUND: { by: "adapter", meaning: "the agent's program is not in the image" },
  AGENT_AUTH_FAILED: { by: "adapter", meaning: "the model API refused the credential" },
  AGENT_CRASH: {
    by: "adapter",
    meaning: "the agent broke, was refused, or ended without doing its turn",
  },
  AGENT_STALLED: { by: "adapter", meaning: "the agent printed nothing and did nothing for too long" },
  AGENT_LIMIT_REACHED: {
    by: "adapter",
    meaning: "turns, budget, a time limit or the model's usage limit came to an end",
  },
  VERIFY_FAILED: { by: "adapter", meaning: "a check failed, and repairs did not help" },
  NOTHING_CHANGED: {
    by: "adapter",
    meaning: "the agent changed nothing, and no check shows that nothing had to be",
  },
  HISTORY_REWRITTEN: {
    by: "either",
    meaning: "the last good commit is no longer part of the branch",
  },
  DEPENDENCY_FAILED: {
    by: "adapter",
    meaning: "skipped: a story that it depends on was not completed",
  },
  DISK_FULL: { by: "adapter", meaning: "the sandbox's disk, or its share of it, is full" },
  WORK_TOO_LARGE: {
    by: "adapter",
    meaning: "more or larger files were left than a task may commit; the text names them",
  },
  CONTAINER_OOM: { by: "either", meaning: "the sandbox's memory was used up" },
  PROCESSES_EXHAUSTED: {
    by: "either",
    meaning: "the sandbox's processes (`limits.pids`) were used up",
  },
  COLLECT_FAILED: {
    by: "host",
    meaning: "the commits could not be brought in, or are not what was reported",
  },
  BASE_CONFLICT: { by: "host", meaning: "the results that it starts from contradict each other" },
  PROOF_FAILED: {
    by: "host",
    meaning: "in a fresh sandbox a check fails that the task demands, or that passed before the work",
  },
  CONTAINER_LOST: {
    by: "host",
    meaning: "the container and its volume were removed, and not by swarm",
  },
  INTERRUPTED: { by: "host", meaning: "stopped from outside; it can go on" },
  BUDGET_EXCEEDED: {
    by: "host",
    meaning:
      "its budget or the swarm's is used up; its work is kept, and it can be tried again with a larger one",
  },
  ACP_CONNECTION_LOST: {
    by: "host",
    meaning: "the host received nothing from the adapter for too long: it was unreachable or silent",
  },
  ACP_PROTOCOL_VIOLATION: { by: "host", meaning: "the sandbox sent a message that no adapter sends" },
  UNKNOWN_ERROR: { by: "either", meaning: "a bug in swarm; the text says where" },
};
