import type { JournalledMessage } from "../domain/acp-messages.ts";
import type { StoredReworkRequest } from "../domain/evidence.ts";
import type { TaskRequestPayload } from "../domain/generated/acp.ts";
import type { Conversation } from "./conversations.ts";

export interface WorkerToConnect {
  readonly containerId: string;
  readonly slug: string;
  readonly attempt: number;
  /** The IDs of all stories of the task. */
  readonly storyIds: readonly string[];
  /** The IDs of the stories that earlier attempts completed. */
  readonly completedStoryIds: readonly string[];
  readonly request: TaskRequestPayload;
  /** Returns environment variables for the agent. Called at each connection. */
  readonly environment: () => Readonly<Record<string, string>> | null;
}

/**
 * The host's channel to a swarm's workers: conversations with adapters, journals, and files that adapters
 * store.
 */
export interface WorkerChannel {
  /** Opens the host's journal of an attempt and connects to the attempt's adapter. Disposing closes both. */
  connect(worker: WorkerToConnect, signal: AbortSignal): Promise<Conversation>;
  /** Reads the host's journal of an attempt from the beginning. */
  readJournal(worker: { readonly slug: string; readonly attempt: number }): AsyncIterable<JournalledMessage>;
  /** Reads a file that an adapter stored in the worker's container. */
  readFile(
    file: { readonly containerId: string; readonly path: string; readonly maxBytes: number },
    signal: AbortSignal,
  ): AsyncIterable<Uint8Array>;
  /**
   * Copies a bundle of the repository into a container that has not started, to the path where the adapter
   * expects it.
   */
  copyBundle(containerId: string, file: string, signal: AbortSignal): Promise<void>;
  /**
   * Returns the task request that the host stored for an attempt. Later edits of the task file or other flags
   * do not change this request.
   */
  findRequest(worker: {
    readonly slug: string;
    readonly attempt: number;
  }): Promise<TaskRequestPayload | null>;
  /** Returns the user's request to rework a story in this attempt; null if there is none. */
  findRework(worker: {
    readonly slug: string;
    readonly attempt: number;
  }): Promise<StoredReworkRequest | null>;
  storeRework(
    worker: { readonly slug: string; readonly attempt: number },
    takenUp: StoredReworkRequest,
  ): Promise<void>;
  /** Writes the request of an attempt atomically. */
  storeRequest(
    worker: { readonly slug: string; readonly attempt: number },
    request: TaskRequestPayload,
  ): Promise<void>;
}
