import type { AcpMessage } from "../../src/contract/acp.ts";
import type { StoryStatus } from "../../src/contract/swarm-state.ts";
import type { TurnUsage } from "../agents/agent.ts";
import { noUsage } from "../agents/turn-usage.ts";

/** What earlier adapter processes on this volume did, as their journal shows. */
export interface EarlierAdapterRunResults {
  readonly statusById: ReadonlyMap<string, StoryStatus>;
  readonly commitById: ReadonlyMap<string, string | null>;
  /** The tip of the task's branch when each story was first started, by story ID. */
  readonly startCommitById: ReadonlyMap<string, string>;
  readonly lastCheckpoint: { readonly commit: string; readonly bundle: string | null } | null;
  /** The git bundle named in the newest checkpoint message that names one. */
  readonly lastBundle: string | null;
  /**
   * The exit code of the task's attempt if the attempt has ended. Null if this adapter process must continue
   * the attempt.
   */
  readonly exitCode: 0 | 1 | 2 | null;
  readonly usage: TurnUsage;
}

const exitCodes = { completed: 0, failed: 1, stopped: null } as const;

/**
 * Reads from the journal what earlier adapter processes did. Does not validate the messages, since only the
 * supervisor writes the journal.
 */
export async function readEarlierAdapterRunResults(
  messages: AsyncIterable<unknown>,
): Promise<EarlierAdapterRunResults> {
  const statusById = new Map<string, StoryStatus>();
  const commitById = new Map<string, string | null>();
  const startCommitById = new Map<string, string>();
  let lastCheckpoint: EarlierAdapterRunResults["lastCheckpoint"] = null;
  let lastBundle: string | null = null;
  let exitCode: EarlierAdapterRunResults["exitCode"] = null;
  let usage = noUsage;
  for await (const message of messages as AsyncIterable<AcpMessage>) {
    switch (message.type) {
      case "progress-update": {
        const { storyId, status, commit, from } = message.payload;
        statusById.set(storyId, status);
        if (commit !== undefined) commitById.set(storyId, commit);
        if (from !== undefined && !startCommitById.has(storyId)) startCommitById.set(storyId, from);
        break;
      }
      case "checkpoint": {
        const { commit, bundle } = message.payload;
        lastCheckpoint = { commit, bundle };
        lastBundle = bundle ?? lastBundle;
        break;
      }
      case "usage": {
        const { storyId: _story, ...soFar } = message.payload;
        usage = soFar;
        break;
      }
      case "completion":
        exitCode = exitCodes[message.payload.status];
        break;
      case "error":
        exitCode = 2;
        break;
      default:
        break;
    }
  }
  return { statusById, commitById, startCommitById, lastCheckpoint, lastBundle, exitCode, usage };
}
