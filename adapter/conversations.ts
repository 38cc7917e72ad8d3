import type { TaskRequestPayload } from "../src/domain/generated/acp.ts";

/**
 * Returns the ID of the conversation in which an earlier attempt did this story; null if there is none, or if this
 * attempt lacks that attempt's home folder, which holds the conversation.
 */
export function findEarlierConversationId({ evidence }: TaskRequestPayload, storyId: string): string | null {
  return evidence?.storyId === storyId ? evidence.conversation : null;
}

/**
 * Returns the ID of a conversation if it has only harmless characters, else undefined: the agent, which is untrusted,
 * chose the ID.
 */
export function toPublishableConversationId(name: string | undefined): string | undefined {
  return name !== undefined && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/.test(name) ? name : undefined;
}
