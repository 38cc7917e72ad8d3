import type { UserStory } from "../../contract/tasks.ts";

/** An earlier story of the same task, as the prompt for the next story lists it. */
export interface EarlierStoryForPrompt {
  readonly id: string;
  readonly title: string;
  /** The commit with the story's changes; null if the story needed no change. */
  readonly commit: string | null;
}

interface StoryPromptInput {
  readonly taskTitle: string;
  readonly story: Pick<UserStory, "id" | "title" | "description" | "acceptanceCriteria" | "notes">;
  readonly earlier: readonly EarlierStoryForPrompt[];
  /** The commands with which the adapter checks the story's result after the agent has finished. */
  readonly checks: readonly string[];
}

/**
 * The built-in template of a story's prompt. A project's own template may use the same placeholders in double
 * braces.
 */
const storyTemplate = `You are working in a git repository, alone and unattended: nobody can answer questions. Carry out exactly this story of the task "{{task}}" and then stop.

# {{id}}: {{title}}

{{description}}

## It is done when
{{criteria}}

{{notes}}
{{earlier}}
{{checks}}
Leave your changes in the working tree, or commit them on the current branch. Do not push, do not switch branches and do not rewrite commits that are there already.
`;

/** Renders a story's prompt from the built-in template or from the project's own template. */
export function storyPrompt(
  { taskTitle, story, earlier, checks }: StoryPromptInput,
  template: string = storyTemplate,
): string {
  const parts: Readonly<Record<string, string>> = {
    task: taskTitle,
    id: story.id,
    title: story.title,
    description: story.description,
    criteria: list(story.acceptanceCriteria) || "- the work that the description asks for is done",
    notes: section("Notes", story.notes ?? ""),
    earlier: section(
      "Done before",
      list(
        earlier.map(
          ({ id, title, commit }) => `${id} ${title}${commit ? ` (commit ${commit.slice(0, 10)})` : ""}`,
        ),
      ),
    ),
    checks: section(
      "These commands will be run after your work and must succeed",
      list(checks.map((command) => `\`${command}\``)),
    ),
  };
  return template
    .replace(/\{\{(\w+)\}\}/g, (whole, name: string) =>
      Object.hasOwn(parts, name) ? (parts[name] ?? whole) : whole,
    )
    .replace(/\n{3,}/g, "\n\n");
}

/**
 * Renders the prompt that asks the agent, in the conversation of the story, to repair work for which a check
 * command failed.
 */
export function repairPrompt({
  storyId,
  command,
  result,
  output,
}: {
  readonly storyId: string;
  readonly command: string;
  /** The result of the failed check command, for example `exit 1`. */
  readonly result: string;
  readonly output: string;
}): string {
  return `${storyId} is not done yet: a check failed (${result}).

Command: \`${command}\`

The end of its output:
\`\`\`
${output.trim() || "(nothing)"}
\`\`\`

Correct the work so that this command succeeds, without weakening the check. Then stop.
`;
}

/** Renders the prompt that asks the agent to rework a story whose result is not good enough. */
export function reworkPrompt({
  storyId,
  message,
}: {
  readonly storyId: string;
  readonly message: string;
}): string {
  return `${storyId} is reopened, because your earlier work on this story is not good enough.

${message.trim()}

Look at the state of the repository, correct the work so that this problem does not occur again, without weakening any check, and then stop.
`;
}

/** Renders the prompt that asks a restarted agent to continue a story that a crash interrupted. */
export function continuePrompt(storyId: string): string {
  return `Your work on ${storyId} was interrupted. Your changes are still in the working tree. Look at the state of the repository, finish the story, and then stop.
`;
}

function list(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join("\n");
}

function section(title: string, text: string): string {
  return text.trim() === "" ? "" : `## ${title}\n${text.trim()}\n`;
}
