import type { TaskRequestPayload } from "../src/domain/generated/acp.ts";

/** The conversation of an earlier attempt, if this attempt has that attempt's home folder. */
export function earlierConversation({ evidence }: TaskRequestPayload, storyId: string): string | null {
  return evidence?.storyId === storyId ? evidence.conversation : null;
}

/** The agent chooses the ID of its conversation, so the adapter publishes only a plain one. */
export function publishableId(name: string | undefined): string | undefined {
  return name !== undefined && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/.test(name) ? name : undefined;
}
