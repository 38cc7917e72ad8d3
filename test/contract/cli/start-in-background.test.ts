import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { test, writeTask } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

const program = fileURLToPath(new URL("../../fakes/cli/edit-before-owner-process.ts", import.meta.url));

test.for([
  ["a task file that is edited before the background process begins is refused by name", true],
  ["control: another file may change, and the start goes on until it needs an engine", false],
] as const)("%s", async ([, isTask], { folder, repository }) => {
  const taskFile = taskFileWith({ metadata: { branchName: "feat/one", title: "Planned" } });
  const task = writeTask(repository, "one-tasks.json", taskFile);

  const { status, stderr } = spawnSync(
    process.execPath,
    [program, "start", "--all", "-d", "--agent", "command", "--", "true"],
    {
      cwd: repository,
      env: {
        ...process.env,
        HOME: folder,
        SWARM_STATE_DIR: join(folder, "state"),
        DOCKER_HOST: `unix://${folder}/none.sock`,
        EDITED_FILE: isTask ? task : write(repository, "notes.txt", "Planned"),
      },
      encoding: "utf8",
    },
  );

  expect(stderr).toMatch(isTask ? /TASK_FILE_CHANGED: .*one-tasks\.json/ : /ENGINE_UNREACHABLE/);
  expect(status).toBe(isTask ? 2 : 3);
});
