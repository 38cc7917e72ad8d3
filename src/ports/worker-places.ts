import type { JournalledMessage } from "../domain/acp-messages.ts";
import type { TakenUpFrom } from "../domain/evidence.ts";
import type { TaskRequestPayload } from "../domain/generated/acp.ts";
import type { Conversation } from "./conversations.ts";

export interface WorkerTalk {
  readonly containerId: string;
  readonly slug: string;
  readonly attempt: number;
  /** Every story of the task. */
  readonly storyIds: readonly string[];
  /** Of them, those that earlier attempts finished. */
  readonly doneIds: readonly string[];
  readonly request: TaskRequestPayload;
  /** What goes into its agent's environment; asked for at each connection. */
  readonly environment: () => Readonly<Record<string, string>> | null;
}

/** The host's side of a swarm's workers: conversations with their adapters, and what they stored. */
export interface WorkerPlaces {
  /** Opens the host's journal of the attempt and joins the adapter; disposing it closes both. */
  talk(worker: WorkerTalk, signal: AbortSignal): Promise<Conversation>;
  /** What the host's journal of an attempt has already, from its beginning. */
  told(worker: { readonly slug: string; readonly attempt: number }): AsyncIterable<JournalledMessage>;
  /** The bytes of a file that an adapter stored. */
  stored(
    file: { readonly containerId: string; readonly path: string; readonly mostBytes: number },
    signal: AbortSignal,
  ): AsyncIterable<Uint8Array>;
  /** Puts a repository's bundle where an adapter looks for it, in a container that has not started. */
  giveBundle(containerId: string, file: string, signal: AbortSignal): Promise<void>;
  /** The request of an attempt, as it was first sent; edited files and flags change nothing of it. */
  findRequest(worker: {
    readonly slug: string;
    readonly attempt: number;
  }): Promise<TaskRequestPayload | null>;
  /** Why an attempt takes up a story again, where a person asked for that. */
  findTakenUp(worker: { readonly slug: string; readonly attempt: number }): Promise<TakenUpFrom | null>;
  keepTakenUp(
    worker: { readonly slug: string; readonly attempt: number },
    takenUp: TakenUpFrom,
  ): Promise<void>;
  /** Whole or not at all. */
  keepRequest(
    worker: { readonly slug: string; readonly attempt: number },
    request: TaskRequestPayload,
  ): Promise<void>;
}
