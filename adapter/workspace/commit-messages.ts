import type { CommitAuthor } from "../../src/contract/acp.ts";
import type { UserStory } from "../../src/contract/tasks.ts";
import { sanitizeToOneLine } from "../../src/text/sanitize-text.ts";

/**
 * The committer of all commits that the adapter makes. Its name or email also replaces an author's name or
 * email that git would refuse.
 */
export const committer: CommitAuthor = { name: "swarm", email: "swarm@localhost" };

type Titled = Pick<UserStory, "id" | "title">;

/**
 * Returns the commit message of a completed story. Puts every title on one line, because git could read a
 * second line as a trailer.
 */
export function storyCommitMessage(
  { id, title }: Titled,
  { swarmId, task }: { readonly swarmId: string; readonly task: string },
): string {
  const trailers = [
    `Swarm-Id: ${sanitizeToOneLine(swarmId, "-")}`,
    `Swarm-Task: ${sanitizeToOneLine(task, "-")}`,
    `Swarm-Story: ${id}`,
  ];
  return `${sanitizeToOneLine(title, id)}\n\n${trailers.join("\n")}\n`;
}

/** Returns the message of the commit that keeps a failed story's unfinished work. */
export function unfinishedWorkCommitMessage({ id, title }: Titled, code: string): string {
  return `Unfinished: ${id} ${sanitizeToOneLine(title, "")}`.trimEnd().concat(`\n\n${code}\n`);
}

/**
 * Returns the environment variables that set git's author and committer. Removes NUL bytes, and replaces an
 * author's name or email that git would refuse.
 */
export function gitAuthorVariables({ name, email }: CommitAuthor): Record<string, string> {
  return {
    GIT_AUTHOR_NAME: named(name, committer.name),
    GIT_AUTHOR_EMAIL: named(email, committer.email),
    GIT_COMMITTER_NAME: committer.name,
    GIT_COMMITTER_EMAIL: committer.email,
  };
}

/**
 * Returns the given name on one line. Returns `otherwise` if git would refuse the name because it consists
 * only of characters that git strips.
 */
function named(text: string, otherwise: string): string {
  const name = sanitizeToOneLine(text, otherwise);
  return /[^<>.,:;"'\\\s]/.test(name) ? name : otherwise;
}
