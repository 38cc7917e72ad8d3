import type { TaskFile, TaskMetadata, UserStory } from "../../../src/contract/tasks.ts";

/** A valid task file of one story, changed at will. */
export function taskFileWith({
  metadata = {},
  story = {},
  stories,
}: {
  metadata?: Partial<TaskMetadata>;
  story?: Partial<UserStory>;
  stories?: readonly UserStory[];
} = {}): TaskFile {
  return {
    schemaVersion: "3.3",
    metadata: {
      title: "feat: a thing",
      type: "feat",
      branchName: "feat/thing",
      createdAt: "2026-01-02",
      ...metadata,
    },
    userStories: stories ?? [storyWith(story)],
  };
}

/** A valid story, changed at will. */
export function storyWith(story: Partial<UserStory> = {}): UserStory {
  return {
    id: "US-001",
    title: "Do a thing",
    description: "Do it well",
    acceptanceCriteria: ["It is done"],
    priority: 1,
    ...story,
  };
}
