import { join } from "node:path";
import { describe, expect } from "vitest";
import { openProject } from "../../../src/app/open-project.ts";
import type { Project } from "../../../src/project/project.ts";
import {
  checksumsOf,
  type PlannedStart,
  planStart,
  refuseChangedFiles,
} from "../../../src/swarm/plan-start.ts";
import type { TaskFolder } from "../../../src/tasks/project-tasks.ts";
import { test, writeTask } from "../../fakes/folders.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

const all = { files: [], again: false, strict: false };
const name = "2026-01-01-one-tasks.json";

/** The real project of a repository, with a call after each read of a task file. */
async function projectIn(repository: string, afterRead: (file: string) => void): Promise<Project> {
  const project = openProject({
    env: { HOME: repository, SWARM_STATE_DIR: join(repository, "..", "state") },
    folder: repository,
    command: "a test",
    flags: { values: { parallel: 2, agent: "claude" }, nameOf: (pointer) => pointer },
  });
  const real = await project.tasks.folder();
  const folder: TaskFolder = {
    list: () => real.list(),
    async read(file) {
      const found = await real.read(file);
      afterRead(file);
      return found;
    },
  };
  return { ...project, tasks: { ...project.tasks, folder: async () => folder } };
}

function write(repository: string, title: string): void {
  writeTask(repository, name, taskFileWith({ metadata: { title, branchName: "feat/one" } }));
}

async function planOf(repository: string): Promise<PlannedStart> {
  return planStart(await projectIn(repository, () => {}), all);
}

describe("a start", () => {
  test("reads each task file once: what was planned is what runs, though the file is edited meanwhile", async ({
    repository,
  }) => {
    write(repository, "Planned");
    const reads: string[] = [];
    const project = await projectIn(repository, (file) => {
      reads.push(file);
      write(repository, "Edited");
    });

    const { plan, works } = await planStart(project, all);

    expect(reads).toEqual([name]);
    expect(plan.tasks.map(({ title }) => title)).toEqual(["Planned"]);
    expect(works.map(({ task }) => task.taskFile.metadata.title)).toEqual(["Planned"]);
  });

  test("in the background refuses a file that changed after the first process planned it, and names it", async ({
    repository,
  }) => {
    write(repository, "Planned");
    const planned = checksumsOf((await planOf(repository)).works);
    refuseChangedFiles((await planOf(repository)).works, planned);

    write(repository, "Edited");

    const { works } = await planOf(repository);
    expect(() => refuseChangedFiles(works, planned)).toThrow(
      expect.objectContaining({
        code: "TASK_FILE_CHANGED",
        details: { files: [`.aimi/tasks/${name}`] },
      }),
    );
  });

  test("in the background refuses a file that is new or gone", async ({ repository }) => {
    write(repository, "Planned");
    const { works } = await planOf(repository);

    expect(() => refuseChangedFiles(works, [])).toThrow(
      expect.objectContaining({ code: "TASK_FILE_CHANGED" }),
    );
    expect(() => refuseChangedFiles([], checksumsOf(works))).toThrow(
      expect.objectContaining({ code: "TASK_FILE_CHANGED" }),
    );
  });
});
