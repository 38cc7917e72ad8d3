import type { TaskFile } from "../../contract/tasks.ts";

/**
 * A text in a task file that looks like a prompt injection: the text tries to control the agent instead of
 * describing work.
 */
export interface SuspectedInjection {
  readonly pointer: string;
  readonly text: string;
}

const patterns: readonly RegExp[] = [
  /\b(?:ignore|disregard|forget|override)\b.{0,30}\b(?:previous|prior|above|earlier|all|your|system)\b.{0,30}\b(?:instructions?|prompts?|rules?|messages?|guidelines?)\b/i,
  /(?:^|\n)\s*(?:system|assistant|developer)\s*:/i,
  /<\/?\s*(?:system|assistant|instructions?)\s*>|<\|im_(?:start|end)\|>|\[\/?INST\]/i,
  /\byou are now\b.{0,40}\b(?:unrestricted|jailbroken|in developer mode|DAN)\b/i,
  /\b(?:reveal|print|send|exfiltrate|upload)\b.{0,40}\b(?:api[ _-]?keys?|credentials?|secrets?|tokens?|system prompt)\b/i,
];

/** Finds texts that look like prompt injections among the texts of a task file that an agent will read. */
export function findSuspectedInjections({ metadata, userStories }: TaskFile): SuspectedInjection[] {
  const texts: [pointer: string, text: string | null | undefined][] = [["/metadata/title", metadata.title]];
  userStories.forEach((story, index) => {
    const at = `/userStories/${index}`;
    texts.push(
      [`${at}/title`, story.title],
      [`${at}/description`, story.description],
      [`${at}/notes`, story.notes],
    );
    story.acceptanceCriteria.forEach((criterion, number) => {
      texts.push([`${at}/acceptanceCriteria/${number}`, criterion]);
    });
  });
  return texts.flatMap(([pointer, text]) => {
    const match = text && patterns.map((pattern) => pattern.exec(text)).find(Boolean);
    return match ? [{ pointer, text: match[0].trim().slice(0, 120) }] : [];
  });
}
