import { oneLine } from "../src/domain/clean-text.ts";
import type { CommitAuthor } from "../src/domain/generated/acp.ts";
import type { UserStory } from "../src/domain/generated/tasks.ts";

/** The committer, and the author if the request names none that git accepts. */
const committer: CommitAuthor = { name: "swarm", email: "swarm@localhost" };

type Titled = Pick<UserStory, "id" | "title">;

/** The commit message of a completed story. Each title becomes one line: git could read a second line as a trailer. */
export function storyMessage(
  { id, title }: Titled,
  { swarmId, task }: { readonly swarmId: string; readonly task: string },
): string {
  const trailers = [
    `Swarm-Id: ${oneLine(swarmId, "-")}`,
    `Swarm-Task: ${oneLine(task, "-")}`,
    `Swarm-Story: ${id}`,
  ];
  return `${oneLine(title, id)}\n\n${trailers.join("\n")}\n`;
}

/** The commit message for the unfinished work of a failed story. */
export function unfinishedMessage({ id, title }: Titled, code: string): string {
  return `Unfinished: ${id} ${oneLine(title, "")}`.trimEnd().concat(`\n\n${code}\n`);
}

/** Author and committer as git accepts them: it refuses empty names, and a variable cannot contain a NUL. */
export function authorVariables({ name, email }: CommitAuthor): Record<string, string> {
  return {
    ...{ GIT_AUTHOR_NAME: named(name, committer.name), GIT_AUTHOR_EMAIL: named(email, committer.email) },
    ...{ GIT_COMMITTER_NAME: committer.name, GIT_COMMITTER_EMAIL: committer.email },
  };
}

/** git strips these characters from a name, and refuses a name that has no others. */
function named(text: string, otherwise: string): string {
  const name = oneLine(text, otherwise);
  return /[^<>.,:;"'\\\s]/.test(name) ? name : otherwise;
}
