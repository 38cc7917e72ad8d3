import type { AcpMessage, Cancel, TaskRequest, TaskRequestPayload } from "../src/contract/acp.ts";
import { findAdapterMessageProblem } from "../src/schema/find-message-problem.ts";
import type { JournalClient } from "../src/wire/journal-server.ts";
import { readStringField, toJsonObject } from "./agents/read-json-fields.ts";
import type { Journal } from "./journal/journal.ts";
import { findTaskRequestProblem, serializeCanonicalTaskRequest } from "./journal/task-request.ts";
import { FatalWorkerError } from "./machine/fatal-worker-error.ts";
import type { PauseAwareClock } from "./machine/pause-aware-clock.ts";
import type { SupervisorStatus } from "./supervisor-status.ts";

export interface HostInboxDeps {
  readonly status: SupervisorStatus;
  readonly journal: Journal;
  /**
   * The task request that an earlier adapter process on this volume accepted, in canonical form; null if
   * there was none.
   */
  readonly acceptedRequest: string | null;
  readonly clock: PauseAwareClock;
  readonly onCancel: (cancel: Cancel["payload"]) => void;
  readonly complain: (line: string) => void;
}

/**
 * Receives the host's messages. The host may send the same request or cancellation several times, over any
 * number of connections.
 */
export interface HostInbox {
  readonly receive: (message: unknown, listener: Pick<JournalClient, "send">) => void;
  /**
   * Resolves with the task request when it is accepted, or with null if `signal` aborts first. Rejects if the
   * request is invalid.
   */
  waitForRequest(signal: AbortSignal): Promise<TaskRequestPayload | null>;
  /**
   * Resolves when the host has acknowledged all messages up to the one with number `seq`, or when `signal`
   * aborts.
   */
  waitForAck(seq: number, signal: AbortSignal): Promise<void>;
  /** Returns the newest credentials that the host has sent. They are kept only in memory. */
  readonly credentials: () => Readonly<Record<string, string>>;
}

/**
 * The maximum nesting depth of a JSON message from the host. The limit prevents stack overflows in recursive
 * functions; valid task files and scripts need less.
 */
const maxDepth = 64;

const hostMessageTypes: readonly string[] = ["task-request", "credentials", "ack", "cancel", "resumed"];

export function openHostInbox({
  status,
  journal,
  acceptedRequest,
  clock,
  onCancel,
  complain,
}: HostInboxDeps): HostInbox {
  const arrived = Promise.withResolvers<TaskRequestPayload>();
  arrived.promise.catch(() => {});
  let accepted = acceptedRequest;
  let credentials: Readonly<Record<string, string>> = {};
  let acknowledgedSeq = 0;
  let onAck = () => {};

  function acceptRequest({ payload, containerId }: TaskRequest, listener: Pick<JournalClient, "send">): void {
    const problem = findTaskRequestProblem(payload);
    if (problem !== null) {
      refuse(problem);
      return;
    }
    const canonical = serializeCanonicalTaskRequest(payload);
    if (accepted !== null && canonical !== accepted) {
      // Refuses the conflicting request without ending the work on the accepted one.
      const payload = {
        code: "REQUEST_CONFLICT",
        message:
          "the adapter accepted a different task request earlier; changed files or flags need a new attempt",
      };
      listener.send(JSON.stringify({ type: "error", ...status.envelope(), payload }));
      return;
    }
    accepted = canonical;
    status.containerId = containerId;
    if (status.phase === "waiting") {
      status.phase = "preparing";
      status.agent = { kind: payload.agent?.kind ?? "claude", version: null };
      arrived.resolve(payload);
    }
    listener.send(status.hello(journal.lastSeq));
  }

  function refuse(problem: string): void {
    if (accepted === null) arrived.reject(new FatalWorkerError("REQUEST_INVALID", problem));
    else complain(`ignored a task request: ${problem}`);
  }

  return {
    receive(message, listener) {
      const type = readStringField(toJsonObject(message), "type");
      if (type === null || !hostMessageTypes.includes(type))
        return complain("the adapter ignored a line from the owner, because the line is not a message");
      const received = message as AcpMessage;
      const problem = isDeeperThan(message, maxDepth)
        ? `the message is nested deeper than ${maxDepth} levels`
        : (findAdapterMessageProblem(message) ??
          (received.swarmId === status.swarmId ? null : "the message is for another swarm"));
      if (problem !== null)
        return type === "task-request" ? refuse(problem) : complain(`ignored a ${type} message: ${problem}`);
      switch (received.type) {
        case "task-request":
          return acceptRequest(received, listener);
        case "credentials":
          credentials = received.payload.env;
          return;
        case "ack":
          acknowledgedSeq = Math.max(acknowledgedSeq, Math.min(received.payload.seq, journal.lastSeq));
          return onAck();
        case "cancel":
          status.graceMs = received.payload.graceMs;
          return onCancel(received.payload);
        case "resumed":
          return clock.addPause(received.payload.pausedMs);
        default:
          return;
      }
    },
    waitForRequest: (signal) => Promise.race([arrived.promise, aborted(signal)]),
    async waitForAck(seq, signal) {
      while (acknowledgedSeq < seq && !signal.aborted) {
        await Promise.race([new Promise<void>((resolve) => (onAck = resolve)), aborted(signal)]);
      }
    },
    credentials: () => credentials,
  };
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((item) => isDeeperThan(item, depth - 1));
}

function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    else signal.addEventListener("abort", () => resolve(null), { once: true });
  });
}
