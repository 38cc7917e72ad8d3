import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { Notice } from "../../../src/contract/notice.ts";
import { findSchemaViolations } from "../../../src/schema/find-violations.ts";
import { writeTask } from "../../fakes/folders.ts";
import { git } from "../../fakes/git/repository.ts";
import { leftOnEngine, recordOf, swarmIn, test, writeScript } from "../../fakes/swarm/swarms.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

describe("a night", () => {
  test("ends at its time with everything kept; the next one goes on and merges; after that there is nothing to do", async ({
    place,
  }) => {
    const { repository } = place;
    // Whoever begins before this moment has to be asked to stop.
    const goOnAt = Math.floor(Date.now() / 1_000) + 45;
    const wait = `while [ "$(date +%s)" -lt ${goOnAt} ]; do sleep 0.2; done`;
    for (const [name, before] of [
      ["one", wait],
      ["two", "true"],
    ] as const) {
      writeScript(place, `${name}.json`, {
        "US-001": [{ run: ["sh", "-c", `${before}; echo ${name} > ${name}.txt`] }],
      });
      const agent = { kind: "script" as const, script: `${name}.json` };
      writeTask(
        repository,
        `2026-01-02-${name}-tasks.json`,
        taskFileWith({ metadata: { branchName: `feat/${name}`, agent } }),
      );
    }
    const night = ["start", "--all", "--parallel", "1", "--then", "merge"];

    const first = await swarmIn(place, ...night, "--until", "15s");

    expect(first.exit, first.stderr).toBe(8);
    expect(first.stderr).toContain("The time limit --until 15s is reached");
    const { containerName } = await recordOf(place, "feat/one");
    const statuses = [await recordOf(place, "feat/one"), await recordOf(place, "feat/two")];
    expect(statuses.map(({ status }) => status)).not.toContain("running");
    expect(statuses[1]?.status).toBe("pending");
    const branch = `swarm/${/^aimi-\w+-(\w+)-/.exec(containerName)?.[1]}/integration`;
    expect(git(repository, "branch", "--list", branch)).toBe("");

    const notify = ["--notify", "cat > .aimi/notice.json; echo Nobody answers. >&2; exit 4"];
    const second = await swarmIn(place, ...night, "--until", "6h", ...notify);

    // Whoever is told may fail: that harms nothing.
    expect(second.exit, second.stderr).toBe(0);
    expect(second.stderr).toContain("--notify failed: Nobody answers.");
    const notice: Notice = JSON.parse(readFileSync(join(repository, ".aimi/notice.json"), "utf8"));
    expect(await findSchemaViolations("notice", notice)).toEqual([]);
    expect(notice).toMatchObject({ event: "ended", exit: 0, needsYou: [] });
    expect(notice.text).toContain("2 of 2 workers completed");
    expect(notice.text).toContain(`2 results on ${branch}`);
    expect(readFileSync(join(repository, notice.report), "utf8")).toContain("2 results on");
    const names = git(repository, "ls-tree", "--name-only", branch).split("\n");
    expect(names).toEqual(expect.arrayContaining(["one.txt", "two.txt"]));
    expect(await leftOnEngine(place)).toEqual([]);

    const third = await swarmIn(place, ...night);
    expect(third).toMatchObject({ exit: 0, stdout: expect.stringContaining("Nothing to carry out") });
  });

  test("is refused where its words cannot be meant", async ({ place }) => {
    for (const [words, code] of [
      [["--until", "7am"], "INVALID_VALUE"],
      [["--until", "25h"], "INVALID_VALUE"],
      [["--then", "sleep"], "INVALID_VALUE"],
      [["--then", "merge", "--json"], "USAGE"],
      [["--notify", " "], "INVALID_VALUE"],
    ] as const) {
      const { exit, stdout, stderr } = await swarmIn(place, "start", "--all", ...words);
      expect([exit, stdout + stderr], words.join(" ")).toEqual([2, expect.stringContaining(code)]);
    }
  });
});
