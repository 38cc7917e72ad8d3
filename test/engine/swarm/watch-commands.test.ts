import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { describe, expect, vi } from "vitest";
import { type Finished, swarm, swarmProgram } from "../../fakes/cli/swarm-command.ts";
import { writeTask } from "../../fakes/folders.ts";
import { begun, type SwarmPlace, swarmEnv, swarmIn, test, writeScript } from "../../fakes/swarm/swarms.ts";
import { storyWith, taskFileWith } from "../../fakes/tasks/task-files.ts";

vi.setConfig({ testTimeout: 60_000 });

/** A command that goes on by itself. */
interface Watching {
  /** Resolves once a line of its output says this. */
  reach(words: string): Promise<void>;
  /** What it said, once it has ended, by itself or by the signal. */
  end(signal?: NodeJS.Signals): Promise<Finished>;
}

function watching(place: SwarmPlace, ...words: string[]): Watching {
  const child = spawn(swarmProgram, words, {
    cwd: place.repository,
    env: { ...process.env, NO_COLOR: "1", ...swarmEnv(place) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  const stderr = child.stderr.toArray();
  const said: string[] = [];
  let more = Promise.withResolvers<void>();
  const reading = (async () => {
    for await (const line of createInterface(child.stdout)) {
      said.push(line);
      more.resolve();
    }
  })();
  return {
    async reach(wanted) {
      while (!said.some((line) => line.includes(wanted))) {
        const over = ended.then(async () => {
          throw new Error(`${words[0]} ended: ${said.join("\n")}${Buffer.concat(await stderr)}`);
        });
        await Promise.race([more.promise, over]);
        more = Promise.withResolvers();
      }
    },
    async end(signal) {
      if (signal) child.kill(signal);
      const [exit] = await ended;
      await reading;
      return { exit, stdout: said.join("\n"), stderr: Buffer.concat(await stderr).toString() };
    },
  };
}

/** `swarm …` on a terminal of its own, with the terminal's settings before and after it. */
async function onTerminal(place: SwarmPlace, typed: string, command: string): Promise<string> {
  const line = `stty -g; ${swarmProgram} ${command}; echo "exit $?"; stty -g`;
  const child = spawn("script", ["--quiet", "--command", line, "/dev/null"], {
    cwd: place.repository,
    env: { ...process.env, ...swarmEnv(place), TERM: "xterm" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let shown = "";
  let hasTyped = false;
  for await (const bytes of child.stdout) {
    shown += bytes;
    // Typed before the shell is there, it would be taken by the terminal itself.
    if (hasTyped || !/work:\S* $/.test(shown)) continue;
    hasTyped = true;
    child.stdin.write(typed);
  }
  return shown;
}

/** A worker that waits in its first story until a person lets it go on, and one that waits for the first. */
function writeTasks(place: SwarmPlace): void {
  writeScript(place, "script.json", {
    "US-001": [
      { write: { path: "a.txt", content: "a\n" } },
      { run: ["sh", "-c", "until [ -e /tmp/go ]; do sleep 0.05; done; printf '\\033[2Jwent on\\n'"] },
    ],
    "US-002": [{ write: { path: "b.txt", content: "b\n" } }],
    "US-003": [{ write: { path: "c.txt", content: "c\n" } }],
  });
  writeTask(
    place.repository,
    "2026-01-02-work-tasks.json",
    taskFileWith({
      metadata: { branchName: "feat/work", agent: { kind: "script", script: "script.json" } },
      stories: [storyWith({ verify: ["grep a a.txt"] }), storyWith({ id: "US-002", dependsOn: ["US-001"] })],
    }),
  );
  writeTask(
    place.repository,
    "2026-01-03-later-tasks.json",
    taskFileWith({
      metadata: {
        branchName: "feat/later",
        dependsOn: ["2026-01-02-work-tasks.json"],
        agent: { kind: "script", script: "script.json" },
      },
      story: { id: "US-003" },
    }),
  );
}

describe("a swarm that is looked at", () => {
  test("shows what it does while it runs and afterwards, and goes its own way", async ({ place }) => {
    writeTasks(place);
    const { ended } = await begun(place, "US-001 in progress", "start", "--all");

    const logs = watching(place, "logs", "work", "-f");
    const attached = watching(place, "attach", "work");
    const left = watching(place, "attach", "work");
    const waiting = watching(place, "wait");
    await Promise.all([logs, attached, left].map((each) => each.reach("a.txt")));

    expect(await left.end("SIGINT")).toMatchObject({ exit: 130 });
    // Nothing of it stays in there.
    const feeds =
      "until [ $(grep -las -- '[-]-follow' /proc/[0-9]*/cmdline | wc -l) = 1 ]; do sleep 0.05; done";
    const typing = { folder: place.repository, env: swarmEnv(place), stdin: "typed\n" };
    const [later, timeout, fed, shell, unknown, nothing, shown] = await Promise.all([
      swarmIn(place, "logs", "later"),
      swarmIn(place, "wait", "work", "--timeout", "50ms"),
      swarmIn(place, "shell", "work", "--", "timeout", "10", "sh", "-c", feeds),
      swarm(typing, "shell", "work", "--", "sh", "-c", "id -u; pwd; cat a.txt; cat; exit 7"),
      swarmIn(place, "shell", "work", "nosuch"),
      swarmIn(place, "shell", "work"),
      onTerminal(place, "id -u; trap 'echo caught' INT; kill -INT $$; exit 4\r", "shell work"),
    ]);
    expect(later).toMatchObject({ exit: 0, stdout: "" });
    expect(later.stderr).toContain("later has no log entries yet: the worker is pending, waits for work");
    expect([timeout.exit, fed.exit, unknown.exit]).toEqual([8, 0, 127]);
    expect(shell).toMatchObject({ exit: 7, stdout: "1000\n/workspace\na\ntyped\n" });
    expect(shell.stderr).toContain("you share this sandbox with the agent");
    expect(nothing.exit).toBe(125);
    expect(nothing.stderr).toMatch(/error WOULD_ASK.*-- command/s);
    const settings = [...shown.matchAll(/[0-9a-f]+(?::[0-9a-f]+){5,}/g)].map(([text]) => text);
    expect(shown).toMatch(/1000\r\ncaught\r\n/);
    expect(shown).toContain("exit 4\r\n");
    expect(settings).toHaveLength(2);
    expect(settings[1]).toBe(settings[0]);

    // Only now may it go on.
    expect(await swarmIn(place, "shell", "work", "touch", "/tmp/go")).toMatchObject({ exit: 0 });
    const started = await ended;
    expect(started.exit, started.stdout).toBe(0);

    const followed = await logs.end();
    expect(followed.exit, followed.stderr).toBe(0);
    expect(followed.stdout).toMatch(
      /^attempt 1, .*US-001 {2}in progress.*a\.txt.*check grep a a\.txt: exit 0.*US-002.*worker completed at commit/s,
    );
    expect(followed.stderr).toContain("work is completed.");
    const whole = await attached.end();
    expect(whole.exit, whole.stderr).toBe(0);
    expect(whole.stderr).toContain("The container of work has ended.");
    const waited = await waiting.end();
    expect(waited.exit, waited.stderr).toBe(0);
    expect(waited.stdout).toMatch(/completed\s+work\s+2\/2\s+feat\/work.*completed\s+later/s);

    const [json, next, gone, closed, wrong, again] = await Promise.all([
      swarmIn(place, "logs", "work", "--story", "US-002", "--json"),
      swarmIn(place, "logs", "later"),
      swarmIn(place, "attach", "work"),
      swarmIn(place, "shell", "work", "id"),
      swarmIn(place, "logs", "work", "--story", "US-009"),
      swarmIn(place, "wait"),
    ]);
    const messages = json.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(new Set(messages.map(({ payload }) => payload.storyId))).toEqual(new Set(["US-002"]));
    expect(next.stdout).toContain("worker completed");
    expect([gone.exit, closed.exit, wrong.exit, again.exit]).toEqual([9, 125, 2, 0]);
    expect(gone.stderr).toMatch(/error CONTAINER_NOT_RUNNING.*swarm logs work/s);
    expect(wrong.stderr).toContain("US-001, US-002");
  });
});
