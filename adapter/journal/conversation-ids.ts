import type { TaskRequestPayload } from "../../src/contract/acp.ts";

/**
 * Returns the ID of the conversation in which an earlier attempt of the task worked on this story. Returns
 * null if there is none, or if this attempt did not get the earlier attempt's home folder.
 */
export function findEarlierConversationId({ evidence }: TaskRequestPayload, storyId: string): string | null {
  return evidence?.storyId === storyId ? evidence.conversation : null;
}

/**
 * Returns the conversation's ID if all of its characters are safe, else undefined. The check is needed
 * because an untrusted agent may choose the ID.
 */
export function toPublishableConversationId(name: string | undefined): string | undefined {
  return name !== undefined && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/.test(name) ? name : undefined;
}
