import type { CommandOperations } from "./cli/composition.ts";
import type { Settings } from "./domain/settings.ts";
import type { Repository } from "./host/find-repository.ts";
import type { DocumentParsers } from "./ports/documents.ts";
import type { LedgerFile, TaskFolder } from "./ports/project-files.ts";

export interface TaskFileOperationsDeps {
  readonly clock: () => Date;
  readonly repository: () => Promise<Repository>;
  readonly resolveSettings: () => Promise<Settings>;
  readonly taskDeps: () => Promise<{ readonly folder: TaskFolder; readonly parsers: DocumentParsers }>;
  readonly ledger: () => Promise<LedgerFile>;
}

/** Creates the operations that write task files. */
export function createTaskFileOperations(
  deps: TaskFileOperationsDeps,
): Pick<CommandOperations, "init" | "makeTask"> {
  const today = (): string => deps.clock().toISOString().slice(0, 10);
  return {
    async init() {
      const [{ initProject }, { createNewFilesWriter }] = await Promise.all([
        import("./swarm/init-project.ts"),
        import("./host/new-files.ts"),
      ]);
      return initProject(createNewFilesWriter((await deps.repository()).root), { today: today() });
    },

    async makeTask(words) {
      const [{ makeTask }, { createNewFilesWriter }, { createCommitReader }, { createGit }] =
        await Promise.all([
          import("./swarm/make-task.ts"),
          import("./host/new-files.ts"),
          import("./host/commit-reader.ts"),
          import("./host/git.ts"),
        ]);
      const { root } = await deps.repository();
      const settings = await deps.resolveSettings();
      return makeTask(
        {
          ...(await deps.taskDeps()),
          ...{ files: createNewFilesWriter(root), commits: createCommitReader(root), git: createGit(root) },
          ...{ ledger: await deps.ledger(), today: today() },
        },
        words,
        settings,
      );
    },
  };
}
