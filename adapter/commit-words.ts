import { oneLine } from "../src/domain/clean-text.ts";
import type { CommitAuthor } from "../src/domain/generated/acp.ts";
import type { UserStory } from "../src/domain/generated/tasks.ts";

/** Who makes the commits; also their author where the request names none that git takes. */
const committer: CommitAuthor = { name: "swarm", email: "swarm@localhost" };

type Titled = Pick<UserStory, "id" | "title">;

/** The commit of a story that is done. Titles are one line each: git reads a line below one as another trailer. */
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

/** What there was of one that is not. */
export function unfinishedMessage({ id, title }: Titled, code: string): string {
  return `Unfinished: ${id} ${oneLine(title, "")}`.trimEnd().concat(`\n\n${code}\n`);
}

/** Name and address as git takes them: it refuses empty ones, and no program takes a NUL. */
export function authorVariables({ name, email }: CommitAuthor): Record<string, string> {
  return {
    ...{ GIT_AUTHOR_NAME: named(name, committer.name), GIT_AUTHOR_EMAIL: named(email, committer.email) },
    ...{ GIT_COMMITTER_NAME: committer.name, GIT_COMMITTER_EMAIL: committer.email },
  };
}

/** git leaves these out of a name itself, and then says that it is empty. */
function named(text: string, otherwise: string): string {
  const name = oneLine(text, otherwise);
  return /[^<>.,:;"'\\\s]/.test(name) ? name : otherwise;
}
