import { describe, expect } from "vitest";
import { type Finished, swarm as run } from "../../fakes/cli/swarm-command.ts";
import { test as base } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";
import { activity, completion, lines, numbered, progress } from "../../fakes/protocol/acp-talk.ts";

/** Tests with a swarm of one worker that nobody carries out, and no engine to find. */
const test = base.extend<{ swarm: (...words: string[]) => Promise<Finished> }>({
  swarm: async ({ repository, folder }, use) => {
    const env = {
      HOME: folder,
      SWARM_STATE_DIR: `${folder}/state`,
      DOCKER_HOST: `unix://${folder}/none.sock`,
    };
    const swarm = (...words: string[]): Promise<Finished> => run({ folder: repository, env }, ...words);
    await swarm("state", "init");
    await swarm("state", "add", "-", "aimi-one", ".aimi/tasks/one-tasks.json", "feat/one");
    await use(swarm);
  },
});

async function swarmIdOf(swarm: (...words: string[]) => Promise<Finished>): Promise<string> {
  return JSON.parse((await swarm("state", "status")).stdout).swarmId;
}

describe("a swarm that nobody carries out", () => {
  test("is told to stand still, and how to go on", async ({ swarm }) => {
    const [logs, followed, wait, attach, shell] = await Promise.all([
      swarm("logs", "one"),
      swarm("logs", "one", "-f"),
      swarm("wait"),
      swarm("attach", "one"),
      swarm("shell", "one", "--", "id"),
    ]);

    expect(logs).toMatchObject({ exit: 0, stdout: "" });
    expect(logs.stderr).toContain("one has no log entries yet: the worker is pending");
    expect(logs.stderr).toContain("swarm resume");
    expect(followed).toMatchObject({ exit: 0, stderr: expect.stringContaining("next: `swarm resume`") });
    expect(wait).toMatchObject({ exit: 8, stdout: expect.stringContaining("pending") });
    expect(wait.stderr).toContain("next: `swarm resume`");
    expect(attach).toMatchObject({ exit: 9, stderr: expect.stringContaining("swarm logs one") });
    expect(shell).toMatchObject({ exit: 125, stderr: expect.stringContaining("CONTAINER_NOT_RUNNING") });
  });

  test("has ended for who waits when its workers have", async ({ swarm }) => {
    await swarm("state", "update", "aimi-one", "--status", "completed");

    const [wait, json] = await Promise.all([swarm("wait", "one"), swarm("wait", "--json")]);

    expect(wait).toMatchObject({ exit: 0, stdout: expect.stringMatching(/completed +one/) });
    expect(json.exit).toBe(0);
    expect(JSON.parse(json.stdout).swarm.containers).toMatchObject([{ status: "completed" }]);
  });

  test("shows what its worker said, and nothing of it to a terminal's harm", async ({
    swarm,
    repository,
  }) => {
    const said = numbered([
      progress("US-001", "in_progress"),
      activity("US-001", "\u001b[2J\u202egone"),
      completion("failed"),
    ]);
    const file = `.aimi/swarms/${await swarmIdOf(swarm)}/one/journal-1.ndjson`;
    write(repository, file, `${lines(said)}no JSON\n{"type":"activity","payload":{}}\n{"torn`);

    const [logs, json] = await Promise.all([swarm("logs", "one"), swarm("logs", "one", "--json")]);

    expect(logs.stdout.split("\n").slice(0, -1)).toEqual([
      "attempt 1, 2026-01-31 UTC",
      "12:00:00  US-001  in progress: US-001 is in_progress",
      "12:00:00  US-001  text: gone",
      "12:00:00  worker failed at commit a1a1a1a1a1",
    ]);
    expect(
      json.stdout
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line).seq),
    ).toEqual([1, 2, 3]);
  });

  test("refuses words that mean nothing here, and says what would", async ({ swarm }) => {
    const refused: readonly [words: string[], problem: string][] = [
      [["logs", "two"], "WORKER_UNKNOWN"],
      [["logs", "one", "--attempt", "2"], "1, because the worker has had only one attempt"],
      [["logs", "one", "--attempt", "x"], "INVALID_VALUE"],
      [["logs", "one", "--story", "US-001"], "--story cannot be"],
      [["wait", "two"], "WORKER_UNKNOWN"],
      [["wait", "--timeout", "soon"], "a duration such as 90s"],
      [["wait", "--timeout", "25d"], "at most 24d"],
      [["attach", "one", "two"], "too many arguments"],
    ];

    const ends = await Promise.all(refused.map(([words]) => swarm(...words)));

    expect(ends).toEqual(
      refused.map(([, problem]) => ({ exit: 2, stdout: "", stderr: expect.stringContaining(problem) })),
    );
  });
});
