import type { Repository } from "../git/find-repository.ts";
import type { Host } from "../machine/host.ts";
import { addMissingLines, writeIfAbsent } from "./write-if-absent.ts";

/** What `swarm init` did with one file. */
interface InitializedFile {
  readonly path: string;
  readonly result: "written" | "left as it was";
}

/**
 * The lines that swarm writes into `.aimi/.gitignore`. They match only files that swarm writes, not files
 * that users write there.
 */
const ignored: readonly string[] = [
  "swarm-state.json",
  "events*.ndjson",
  "swarms/",
  "reports/",
  "sandboxes/",
  "*.tmp",
];

/**
 * Writes an empty project settings file and an example task file, unless they exist, and adds missing lines
 * to `.aimi/.gitignore`. The settings file is empty because any value there would override the user's
 * settings.
 */
export async function initProject(project: {
  readonly host: Pick<Host, "clock">;
  repository(): Promise<Repository>;
}): Promise<InitializedFile[]> {
  const { root } = await project.repository();
  const today = project.host.clock().toISOString().slice(0, 10);
  const write = async (path: string, content: string): Promise<InitializedFile> => ({
    path,
    result: (await writeIfAbsent(root, path, content)) ? "written" : "left as it was",
  });
  const added = await addMissingLines(root, ".aimi/.gitignore", ignored);
  return [
    await write(".aimi/config.json", json({})),
    await write(`.aimi/tasks/${today}-example-tasks.json`, json(exampleTaskFile(today))),
    { path: ".aimi/.gitignore", result: added ? "written" : "left as it was" },
  ];
}

function exampleTaskFile(today: string): object {
  return {
    schemaVersion: "3.3",
    metadata: {
      title: "chore: document how to contribute",
      type: "chore",
      branchName: "chore/contributing",
      createdAt: today,
    },
    userStories: [
      {
        id: "US-001",
        title: "Write CONTRIBUTING.md",
        description:
          "Explain on one page how to build and test this project, and how to submit a change. Use only facts from the files of this repository.",
        acceptanceCriteria: ["CONTRIBUTING.md names the commands that build and test this repository"],
        priority: 1,
        verify: ["test -s CONTRIBUTING.md"],
      },
      {
        id: "US-002",
        title: "Link it from the README",
        description:
          "Add one sentence with a link to CONTRIBUTING.md at the place where a reader of the README would look for the link.",
        acceptanceCriteria: ["The README links to CONTRIBUTING.md"],
        priority: 2,
        dependsOn: ["US-001"],
        verify: ["grep -q CONTRIBUTING.md README.md"],
      },
    ],
  };
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
