import type { CommandOperations } from "../cli/composition.ts";
import type { Repository } from "../git/find-repository.ts";
import type { DocumentParsers } from "../settings/located-document.ts";
import type { Settings } from "../settings/rules/settings.ts";
import type { LedgerFile, TaskFolder } from "../tasks/project-files-port.ts";

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
        import("../tasks/init-project.ts"),
        import("../tasks/project-file-writer.ts"),
      ]);
      return initProject(createNewFilesWriter((await deps.repository()).root), { today: today() });
    },

    async makeTask(words) {
      const [{ makeTask }, { createNewFilesWriter }, { createCommitReader }, { createGit }] =
        await Promise.all([
          import("../tasks/make-task.ts"),
          import("../tasks/project-file-writer.ts"),
          import("../git/commit-reader.ts"),
          import("../git/git.ts"),
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
