import type { ContainerRecord, Reason } from "../../contract/swarm-state.ts";
import type { AdapterConversationEnd } from "../../protocol/adapter-conversation.ts";
import { judgeEndedAttempt } from "../../state/rules/reconcile-records.ts";
import type { WorkerVerdict } from "./record-worker-end.ts";

/**
 * Returns with which status and reason the worker ended. Whatever its final message says, a worker counts as
 * completed only if all stories are completed and its last commit was imported.
 */
export function judgeWorkerEnd(
  record: ContainerRecord,
  end: AdapterConversationEnd,
  runtime: string,
): WorkerVerdict {
  switch (end.kind) {
    case "completion": {
      const { status, head } = end.message.payload;
      if (status === "stopped") return interrupted("the owner asked the worker to stop");
      if (status === "failed") return { status, reason: failureOf(record) };
      const isWhole = record.stories.every((story) => story.status === "completed");
      const isHere = head === record.baseCommit || head === record.collected?.commit;
      if (isWhole && isHere) return { status, reason: null };
      const message = isWhole
        ? "the worker's last commit is not the commit that was collected"
        : "the worker reported `completed`, but not all stories are completed";
      return { status: "failed", reason: { code: "ACP_PROTOCOL_VIOLATION", message } };
    }
    case "error": {
      // An error without a sequence number only rejects this owner's request: the adapter already works on an
      // earlier request.
      const status = end.message.seq === undefined ? "stopped" : "failed";
      return { status, reason: end.message.payload };
    }
    case "violation":
    case "lost":
      return { status: "failed", reason: end.reason };
    case "exited": {
      const { exitCode, memoryExhausted: oomKilled, processes } = end;
      const container = { exitCode, oomKilled, processes, runtime };
      const judged = judgeEndedAttempt(container, { completion: null, error: null });
      return { status: judged.status === "failed" ? "failed" : "stopped", reason: judged.reason };
    }
    case "gone":
      return interrupted("the worker's container was removed by a program other than swarm");
  }
}

function interrupted(message: string): WorkerVerdict {
  return { status: "stopped", reason: { code: "INTERRUPTED", message } };
}

function failureOf({ stories }: ContainerRecord): Reason {
  const failed = stories.filter(({ status }) => status === "failed");
  const [first] = failed;
  if (!first?.reason)
    return { code: "UNKNOWN_ERROR", message: "the worker failed, but none of its stories failed" };
  const more = failed.length > 1 ? ` (and ${failed.length - 1} more failed stories)` : "";
  return { code: first.reason.code, message: `${first.id}: ${first.reason.message}${more}` };
}
