import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect } from "vitest";
import { count } from "../../counts.ts";
import { watchProcess } from "../../fakes/cli/watch-process.ts";
import { makeTree } from "../../fakes/git/make-tree.ts";
import { git, write } from "../../fakes/git/repository.ts";
import {
  begun,
  clearEngine,
  killedAt,
  ledgerExpected,
  ledgerOf,
  leftOnEngine,
  letGo,
  recordOf,
  stateOf,
  swarmIn,
  test,
  writeLedgerTasks,
  writeWaitingTask,
} from "../../fakes/swarm/swarms.ts";

/** Everything in a repository that is not a swarm's own: working tree, index, configuration, refs, stash. */
function pictureOf(repository: string): Record<string, string> {
  const files = readdirSync(repository, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(repository, join(entry.parentPath, entry.name)))
    .filter(
      (file) =>
        !/^\.git\/(objects|aimi|refs\/aimi|(logs\/)?refs\/heads\/feat)\/|^\.aimi\/(swarm|events|reports)/.test(
          file,
        ),
    );
  return Object.fromEntries(
    files.map((file) => [
      file,
      createHash("sha256")
        .update(readFileSync(join(repository, file)))
        .digest("hex"),
    ]),
  );
}

describe("a swarm", () => {
  test("leaves the working tree, the index, the stash, the configuration and every other branch as they were", async ({
    place,
  }) => {
    const { repository } = place;
    const as = ["-c", "user.name=Tester", "-c", "user.email=tester@example.invalid"];
    write(repository, "kept.txt", "kept\n");
    git(repository, "add", "kept.txt");
    git(repository, ...as, "commit", "--quiet", "--message", "Keep");
    git(repository, "branch", "other");
    write(repository, "kept.txt", "stashed\n");
    git(repository, ...as, "stash", "--quiet");
    write(repository, "kept.txt", "changed\n");
    write(repository, "staged.txt", "staged\n");
    git(repository, "add", "staged.txt");
    write(repository, "untracked.txt", "untracked\n");
    const worker = { name: "one", stories: 2 };
    writeLedgerTasks(place, [worker]);
    // Made once for every project, before or after.
    await swarmIn(place, "plan");
    const before = pictureOf(repository);

    const { exit, stderr } = await swarmIn(place, "start", "--all");

    expect(exit, stderr).toBe(0);
    expect(ledgerOf(place, worker)).toEqual(ledgerExpected(worker));
    expect(pictureOf(repository)).toEqual(before);
  });

  test("under a clock that jumps by days does its work, and no limit ends it", async ({ place }) => {
    const worker = { name: "one", stories: 2 };
    writeLedgerTasks(place, [worker]);

    const { exit, stderr } = await killedAt(place, "jumping", "start", "--all");

    expect(exit, stderr).toBe(0);
    expect(ledgerOf(place, worker)).toEqual(ledgerExpected(worker));
    expect(await leftOnEngine(place)).toEqual([]);
  });

  test("whose folder is cleaned away, and whose owner is killed then, goes on with what git has", async ({
    place,
  }) => {
    writeWaitingTask(place, "one");
    const { owner, ended } = await begun(place, "US-002 in progress", "start", "--all");
    const { containerName: name } = await recordOf(place, "feat/one");

    git(place.repository, "clean", "--quiet", "-fdx");
    expect(readdirSync(place.repository)).not.toContain(".aimi");
    owner.kill("SIGKILL");
    await ended;
    await letGo(name);
    const { exit, stderr } = await swarmIn(place, "resume");

    expect(exit, stderr).toBe(0);
    expect(git(place.repository, "show", "feat/one:one.txt")).toBe("one\n2\n");
    expect(git(place.repository, "log", "--format=%s", "main..feat/one").trim().split("\n")).toHaveLength(2);
    expect(await leftOnEngine(place)).toEqual([]);
  });

  test("runs as many at once after its owner was killed as before: the lowest maxConcurrency holds", async ({
    place,
  }) => {
    const workers = ["one", "two", "three"].map((name) => ({
      ...{ name, stories: 1, seconds: 2, maxConcurrency: 1 },
    }));
    writeLedgerTasks(place, workers);
    const { owner, ended } = await begun(place, "US-001 in progress", "start", "--all", "--parallel", "3");
    owner.kill("SIGKILL");
    await ended;

    const resumed = await swarmIn(place, "resume", "--json");

    expect(resumed.exit, resumed.stderr).toBe(0);
    const times = stateOf(resumed)
      .containers.map(({ startedAt, finishedAt }) => [startedAt ?? "", finishedAt ?? ""] as const)
      .sort(([a], [b]) => a.localeCompare(b));
    for (const [index, [startedAt]] of times.slice(1).entries())
      expect(startedAt >= (times[index]?.[1] ?? ""), JSON.stringify(times)).toBe(true);
    for (const worker of workers) expect(ledgerOf(place, worker)).toEqual(ledgerExpected(worker));
  });

  test("on a disk that gets full says so and ends, and goes on when there is room", async ({
    folder,
    place,
  }) => {
    const disk = join(folder, "disk");
    mkdirSync(disk);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", disk]);
    try {
      execFileSync("cp", ["-a", `${place.repository}/.`, disk]);
      const small = { ...place, repository: disk };
      writeWaitingTask(small, "one");
      const { ended } = await begun(small, "US-002 in progress", "start", "--all");
      const { containerName: name } = await recordOf(small, "feat/one");
      const { bavail, bsize } = statfsSync(disk);
      writeFileSync(join(disk, "ballast"), Buffer.alloc(bavail * bsize));
      await letGo(name);
      expect((await ended).exit).toBe(3);

      rmSync(join(disk, "ballast"));
      const { exit, stderr } = await swarmIn(small, "resume");

      expect(exit, stderr).toBe(0);
      expect(git(disk, "show", "feat/one:one.txt")).toBe("one\n2\n");
      expect(await leftOnEngine(small)).toEqual([]);
    } finally {
      await clearEngine({ ...place, repository: disk });
      execFileSync("umount", ["--lazy", disk]);
    }
  });

  test("of many workers keeps its owner small", async ({ place }) => {
    const workers = Array.from({ length: count.manyWorkers }, (_, index) => ({
      ...{ name: `worker${index}`, stories: 3, seconds: 0 },
    }));
    if (count.manyWorkers > 20) makeTree(place.repository);
    writeLedgerTasks(place, workers);
    const started = performance.now();

    const { owner, ended } = await begun(place, "started", "start", "--all", "--parallel", "4", "--json");
    const used = watchProcess(owner.pid ?? 0);
    const finished = await ended;

    const { containers } = stateOf(finished);
    expect(containers.filter(({ status }) => status !== "completed").map(({ reason }) => reason)).toEqual([]);
    expect(containers).toHaveLength(workers.length);
    const seconds = (performance.now() - started) / 1000;
    const { memoryBytes, cpuSeconds } = used();
    expect(memoryBytes).toBeLessThan(200 * 1024 ** 2);
    // Stories that take no time give it the most to do; below a minute the beginning weighs more than the run.
    if (seconds >= 60) expect(cpuSeconds / seconds).toBeLessThan(0.15);
    expect(await leftOnEngine(place)).toEqual([]);
  });
});
