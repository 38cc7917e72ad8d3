import type { TaskRequestPayload } from "../src/domain/generated/acp.ts";

/** The one of an attempt before this one, whose home this attempt has. */
export function earlierConversation({ evidence }: TaskRequestPayload, storyId: string): string | null {
  return evidence?.storyId === storyId ? evidence.conversation : null;
}

/** An agent may call it anything; what is no plain name goes nowhere. */
export function tellable(name: string | undefined): string | undefined {
  return name !== undefined && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/.test(name) ? name : undefined;
}
