import { cleanToOneLine } from "../src/domain/clean-text.ts";
import type { CommitAuthor } from "../src/domain/generated/acp.ts";
import type { UserStory } from "../src/domain/generated/tasks.ts";

/** The committer of all commits, and the author if the request's author has no name or email that git accepts. */
const committer: CommitAuthor = { name: "swarm", email: "swarm@localhost" };

type Titled = Pick<UserStory, "id" | "title">;

/**
 * Returns the commit message of a completed story. Puts each title on one line, because git could read a second line
 * as a trailer.
 */
export function storyCommitMessage(
  { id, title }: Titled,
  { swarmId, task }: { readonly swarmId: string; readonly task: string },
): string {
  const trailers = [
    `Swarm-Id: ${cleanToOneLine(swarmId, "-")}`,
    `Swarm-Task: ${cleanToOneLine(task, "-")}`,
    `Swarm-Story: ${id}`,
  ];
  return `${cleanToOneLine(title, id)}\n\n${trailers.join("\n")}\n`;
}

/** Returns the commit message for the unfinished work of a failed story. */
export function unfinishedWorkCommitMessage({ id, title }: Titled, code: string): string {
  return `Unfinished: ${id} ${cleanToOneLine(title, "")}`.trimEnd().concat(`\n\n${code}\n`);
}

/**
 * Returns git's environment variables for author and committer. Replaces names that git refuses, such as empty ones,
 * and removes NULs, which a variable cannot contain.
 */
export function authorVariables({ name, email }: CommitAuthor): Record<string, string> {
  return {
    ...{ GIT_AUTHOR_NAME: named(name, committer.name), GIT_AUTHOR_EMAIL: named(email, committer.email) },
    ...{ GIT_COMMITTER_NAME: committer.name, GIT_COMMITTER_EMAIL: committer.email },
  };
}

/** Returns the name, or `otherwise` if the name has only characters that git strips, because git refuses such a name. */
function named(text: string, otherwise: string): string {
  const name = cleanToOneLine(text, otherwise);
  return /[^<>.,:;"'\\\s]/.test(name) ? name : otherwise;
}
