import { expect } from "vitest";
import { writeTask } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";
import { leftOnEngine, swarmIn, test } from "../../fakes/swarm/swarms.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

/** Wrong the first time, so that a check has something to find. */
const agent = ["--agent", "command", "--", "sh", "-c"];
const atSecondTry = (file: string): string =>
  `test -e ${file} && echo right > ${file} || echo wrong > ${file}`;

test("a prompt becomes a branch that the repository's own tests have passed, by any program", async ({
  place,
}) => {
  const { repository } = place;
  write(repository, "package.json", '{"scripts":{"test":"! grep -rq wrong *.txt"}}');
  git(repository, "add", "--all");
  git(repository, "-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-qm", "Tests");

  const run = await swarmIn(place, "run", "Write the right word", ...agent, atSecondTry("a.txt"));

  expect(run.exit, run.stdout + run.stderr).toBe(0);
  expect(run.stderr).toContain("check: npm test");
  expect(git(repository, "show", "swarm/write-the-right-word:a.txt")).toBe("right\n");
  expect(git(repository, "log", "--format=%s", "main..swarm/write-the-right-word").trim()).toContain(
    "Write the right word",
  );

  // The same for task files that name no agent.
  writeTask(
    repository,
    "2026-01-02-word-tasks.json",
    taskFileWith({ metadata: { branchName: "feat/word", verify: ["npm test"] } }),
  );
  const start = await swarmIn(place, "start", "--all", ...agent, atSecondTry("b.txt"));

  expect(start.exit, start.stdout + start.stderr).toBe(0);
  expect(git(repository, "show", "feat/word:b.txt")).toBe("right\n");
  expect(git(repository, "branch", "--format=%(refname:short)").trim().split("\n")).toHaveLength(3);
  expect(await leftOnEngine(place)).toEqual([]);
});
