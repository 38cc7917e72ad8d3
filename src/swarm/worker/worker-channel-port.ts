import type { TaskRequestPayload } from "../../contract/acp.ts";
import type { AdapterConversation } from "../../protocol/adapter-conversation.ts";
import type { JournalledMessage } from "../../protocol/rules/protocol-messages.ts";
import type { StoredReworkRequest } from "./rules/rework-request.ts";

export interface WorkerAttempt {
  readonly slug: string;
  readonly attempt: number;
}

export interface WorkerToConnect extends WorkerAttempt {
  readonly containerId: string;
  /** The IDs of all stories of the task. */
  readonly storyIds: readonly string[];
  /** The IDs of the stories that the worker completed in earlier attempts. */
  readonly completedStoryIds: readonly string[];
  readonly request: TaskRequestPayload;
  /**
   * Returns the environment variables that the adapter sets for the agent. Called at each connection to the
   * adapter.
   */
  readonly environment: () => Readonly<Record<string, string>> | null;
}

/**
 * The host's access to a swarm's workers: conversations with their adapters, the host's journals of received
 * messages, and files in their containers.
 */
export interface WorkerChannel {
  /**
   * Connects to the adapter of a worker's attempt, and opens the host's journal of the messages that it
   * receives in this attempt. Disposing closes both.
   */
  connect(worker: WorkerToConnect, signal: AbortSignal): Promise<AdapterConversation>;
  /** Reads the host's journal of the messages that it received in a worker's attempt, from the beginning. */
  readJournal(worker: WorkerAttempt): AsyncIterable<JournalledMessage>;
  /** Reads a file that the adapter stored in the worker's container, such as a bundle. */
  readFile(
    file: { readonly containerId: string; readonly path: string; readonly maxBytes: number },
    signal: AbortSignal,
  ): AsyncIterable<Uint8Array>;
  /**
   * Copies a git bundle of the repository into a worker's container that has not started yet, to the path
   * where the adapter expects the bundle.
   */
  copyBundle(containerId: string, file: string, signal: AbortSignal): Promise<void>;
  /**
   * Returns the task request that the host stored for a worker's attempt. Later changes of the task file or
   * of flags do not affect this request.
   */
  findRequest(worker: WorkerAttempt): Promise<TaskRequestPayload | null>;
  /** Returns the user's request to rework a story in this attempt of the worker; null if there is none. */
  findRework(worker: WorkerAttempt): Promise<StoredReworkRequest | null>;
  storeRework(worker: WorkerAttempt, takenUp: StoredReworkRequest): Promise<void>;
  /** Atomically writes the task request, which tells the adapter what to do in this attempt of the worker. */
  storeRequest(worker: WorkerAttempt, request: TaskRequestPayload): Promise<void>;
}
