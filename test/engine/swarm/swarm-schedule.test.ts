import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { swarmProgram } from "../../fakes/cli/swarm-command.ts";
import { eventually } from "../../fakes/eventually.ts";
import { writeTask } from "../../fakes/folders.ts";
import { git } from "../../fakes/git/repository.ts";
import { leftOnEngine, type SwarmPlace, swarmEnv, test, writeScript } from "../../fakes/swarm/swarms.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

/**
 * A cron of our own with a spool of its own, in a mount namespace: nobody's crontab is touched, and a cron that runs here does
 * not meet it.
 */
const begin = `
set -eu
mkdir -p /var/spool/cron
mount -t tmpfs none /var/spool/cron
mkdir -m 1730 /var/spool/cron/crontabs
chgrp crontab /var/spool/cron/crontabs
touch /run/crond.pid
mount -t tmpfs none /mnt
touch /mnt/crond.pid
mount --bind /mnt/crond.pid /run/crond.pid
echo ready
exec cron -f
`;

let cron: ChildProcess;

beforeAll(async () => {
  if (spawnSync("sh", ["-c", "command -v cron && command -v crontab"]).status !== 0)
    execFileSync("apt-get", ["install", "--yes", "--no-install-recommends", "cron"], {
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    });
  cron = spawn("unshare", ["--mount", "--propagation", "private", "sh", "-c", begin], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (cron.stdout) await once(createInterface(cron.stdout), "line");
});

afterAll(() => {
  cron.kill("SIGKILL");
});

/** A command beside that cron. */
function beside(place: SwarmPlace, command: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(
    "nsenter",
    [`--mount=/proc/${cron.pid}/ns/mnt`, `--wd=${place.repository}`, command, ...args],
    { env: { ...process.env, ...swarmEnv(place) }, encoding: "utf8" },
  );
  return { exit: status, stdout, stderr };
}

const schedule = (place: SwarmPlace, ...words: string[]) => beside(place, swarmProgram, "schedule", ...words);

describe("nights that come by themselves", () => {
  test("are written into the crontab once, shown before, and taken out again", async ({ place }) => {
    beside(place, "sh", "-c", "echo '1 1 * * * true' | crontab -");

    const asked = schedule(place, "install", "--at", "23:00", "--until", "07:00");
    expect(asked).toMatchObject({ exit: 2, stderr: expect.stringContaining("WOULD_ASK") });
    expect(asked.stderr).toContain("start --all --until 07:00 --then merge");
    for (let again = 0; again < 2; again += 1)
      expect(schedule(place, "install", "--at", "23:00", "--until", "07:00", "--yes").exit).toBe(0);
    schedule(place, "install", "--at", "22:30", "--days", "mon-fri", "--yes", "--", "--max-attempts", "3");

    const lines = beside(place, "crontab", "-l").stdout.trim().split("\n");
    expect(lines).toEqual([
      "1 1 * * * true",
      expect.stringMatching(/^30 22 \* \* mon-fri .*--max-attempts 3 >>/),
    ]);
    expect(schedule(place, "list").stdout).toMatch(/^here {3}30 22/);
    expect(schedule(place, "remove").stdout).toMatch(/^removed {2}30 22/);
    expect(beside(place, "crontab", "-l").stdout).toBe("1 1 * * * true\n");
    for (const [words, code] of [
      [["--at", "7pm"], "INVALID_VALUE"],
      [["--at", "23:00", "--days", "every"], "INVALID_VALUE"],
      [["--at", "23:00", "--until", "soon"], "INVALID_VALUE"],
      [["--at", "23:00", "--", "--max-atempts", "3"], "USAGE"],
      [["--at", "23:00", "--", "--max-attempts", "three"], "INVALID_VALUE"],
      [["--at", "23:00", "--", "--worker-budget-usd"], "USAGE"],
      [["--at", "23:00", "--", "login-tasks.json"], "USAGE"],
    ] as const)
      expect(schedule(place, "install", "--yes", ...words), words.join(" ")).toMatchObject({
        ...{ exit: 2, stderr: expect.stringContaining(code) },
      });
  });

  test("begin by cron, end at their time with a report, go on in the next one, and have nothing to do in the last", async ({
    place,
  }) => {
    const { repository } = place;
    expect(beside(place, swarmProgram, "image", "build").exit).toBe(0);
    // Whatever minute it is: the first night ends before this, and the last one begins after it.
    const goOnAt = Math.floor(Date.now() / 1_000) + 120;
    const wait = `while [ "$(date +%s)" -lt ${goOnAt} ]; do sleep 0.2; done; echo slow > slow.txt`;
    writeScript(place, "slow.json", { "US-001": [{ run: ["sh", "-c", wait] }] });
    const agent = { kind: "script" as const, script: "slow.json" };
    writeTask(
      repository,
      "2026-01-02-slow-tasks.json",
      taskFileWith({ metadata: { branchName: "feat/slow", agent } }),
    );
    const log = join(repository, ".aimi/reports/night.log");
    const said = (): string => (existsSync(log) ? readFileSync(log, "utf8") : "");
    expect(schedule(place, "install", "--at", "23:00", "--until", "35s", "--yes").exit).toBe(0);
    // Each minute is a night.
    beside(place, "sh", "-c", "crontab -l | sed 's/^0 23 /* * /' | crontab -");

    await eventually(
      "the first night ends",
      async () => /The time limit --until \S+ is reached/.test(said()) || null,
      120_000,
    );
    await eventually("a later night merges", async () => /integration is at /.test(said()) || null, 480_000);
    await eventually(
      "the last one has nothing to do",
      async () => /Nothing to carry out/.test(said()) || null,
      120_000,
    );
    expect(schedule(place, "remove").exit).toBe(0);

    expect(readFileSync(join(repository, ".aimi/reports/latest.md"), "utf8")).toContain("## Merged");
    expect(git(repository, "for-each-ref", "--format=%(refname:short)", "refs/heads/swarm/").trim()).toMatch(
      /^swarm\/\w+\/integration$/,
    );
    await eventually("nothing is left", async () => (await leftOnEngine(place)).length === 0 || null, 60_000);
  }, 1_000_000);
});
