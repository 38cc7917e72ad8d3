import type { JournalledMessage } from "../domain/acp-messages.ts";
import type { RecordedRework } from "../domain/evidence.ts";
import type { TaskRequestPayload } from "../domain/generated/acp.ts";
import type { Conversation } from "./conversations.ts";

export interface WorkerToConnect {
  readonly containerId: string;
  readonly slug: string;
  readonly attempt: number;
  /** Every story of the task. */
  readonly storyIds: readonly string[];
  /** The stories that earlier attempts finished. */
  readonly doneIds: readonly string[];
  readonly request: TaskRequestPayload;
  /** Variables for the agent's environment; called at each connection. */
  readonly environment: () => Readonly<Record<string, string>> | null;
}

/** The host's channel to a swarm's workers: conversations with their adapters, journals, and stored files. */
export interface WorkerChannel {
  /** Opens the host's journal of the attempt and connects to the adapter; disposing closes both. */
  connect(worker: WorkerToConnect, signal: AbortSignal): Promise<Conversation>;
  /** Reads the host's journal of an attempt, from its beginning. */
  readJournal(worker: { readonly slug: string; readonly attempt: number }): AsyncIterable<JournalledMessage>;
  /** Reads a file that an adapter stored. */
  readFile(
    file: { readonly containerId: string; readonly path: string; readonly maxBytes: number },
    signal: AbortSignal,
  ): AsyncIterable<Uint8Array>;
  /** Copies a repository's bundle to the adapter's path for it, in a container that has not started. */
  copyBundle(containerId: string, file: string, signal: AbortSignal): Promise<void>;
  /** The request of an attempt, as first sent; later edits of files and other flags do not change it. */
  findRequest(worker: {
    readonly slug: string;
    readonly attempt: number;
  }): Promise<TaskRequestPayload | null>;
  /** The user's rework request for an attempt; null if there is none. */
  findRework(worker: { readonly slug: string; readonly attempt: number }): Promise<RecordedRework | null>;
  storeRework(
    worker: { readonly slug: string; readonly attempt: number },
    takenUp: RecordedRework,
  ): Promise<void>;
  /** Writes the request of an attempt atomically. */
  storeRequest(
    worker: { readonly slug: string; readonly attempt: number },
    request: TaskRequestPayload,
  ): Promise<void>;
}
