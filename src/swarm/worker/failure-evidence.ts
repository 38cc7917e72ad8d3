import type { Evidence } from "../../contract/acp.ts";
import type { ContainerRecord } from "../../contract/swarm-state.ts";
import type { JournalledMessage } from "../../protocol/rules/protocol-messages.ts";
import { workerSlug } from "../../text/slugs.ts";
import type { OwnerServices } from "./owner-services.ts";
import {
  type ReworkRequest,
  reworkRequestFromFailure,
  reworkRequestFromProof,
} from "./rules/rework-request.ts";

export interface FoundFailureEvidence {
  readonly evidence: Evidence;
  /** Check commands that the next attempt must also pass, in addition to the checks in the task file. */
  readonly checks: readonly string[];
}

/**
 * Finds the failure of a worker's earlier attempt, which swarm puts into the agent's prompt for the next
 * attempt. Returns null if no story is to be repeated because of a failure.
 */
export async function findFailureEvidence(
  { channel, proofs }: Pick<OwnerServices, "channel" | "proofs">,
  record: ContainerRecord,
): Promise<FoundFailureEvidence | null> {
  const { attempt } = record;
  const slug = workerSlug(record);
  if (attempt <= 1) return null;
  const request = await channel.findRework({ slug, attempt });
  // If the rework request is for another commit, a killed command left it and its attempt never began. Then
  // it is ignored.
  const isOfThis = request !== null && request.commit === record.collected?.commit;
  const rework = isOfThis ? request : await ofLastAttempt();
  const isOpen = record.stories.some(({ id, status }) => id === rework?.storyId && status !== "completed");
  if (rework === null || !isOpen) return null;
  const { storyId, message, isKept, checks } = rework;
  const conversation = isKept ? await conversationOf(storyId) : null;
  return { evidence: { storyId, message: message.slice(0, 20_000), isKept, conversation }, checks };

  async function ofLastAttempt(): Promise<ReworkRequest | null> {
    if (record.earlier?.at(-1)?.code === "PROOF_FAILED") {
      const proof = await proofs.find(slug);
      return proof === null ? null : reworkRequestFromProof(proof, record);
    }
    let failure: ReworkRequest | null = null;
    for await (const message of channel.readJournal({ slug, attempt: attempt - 1 }))
      if (isProgress(message) && message.payload.status === "failed")
        failure = reworkRequestFromFailure(message);
    return failure;
  }

  /**
   * Returns the id of the agent's conversation about a story, from the newest earlier attempt that worked on
   * this story. Null if there is none.
   */
  async function conversationOf(storyId: string): Promise<string | null> {
    for (let earlier = attempt - 1; earlier > 0; earlier -= 1) {
      let found: string | null = null;
      for await (const message of channel.readJournal({ slug, attempt: earlier }))
        if (isProgress(message) && message.payload.storyId === storyId)
          found = message.payload.conversation ?? found;
      if (found !== null) return found;
    }
    return null;
  }
}

function isProgress(
  message: JournalledMessage,
): message is JournalledMessage & { readonly type: "progress-update" } {
  return message.type === "progress-update";
}
