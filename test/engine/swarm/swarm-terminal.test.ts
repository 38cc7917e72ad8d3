import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect } from "vitest";
import { swarmProgram } from "../../fakes/cli/swarm-command.ts";
import { FakeTerminal } from "../../fakes/cli/terminal.ts";
import { type SwarmPlace, swarmEnv, test, writeLedgerTasks } from "../../fakes/swarm/swarms.ts";

/** `swarm …` on a terminal, whose keys are pressed when it first shows what is asked for. Everything that was ever seen on it. */
async function onTerminal(
  place: SwarmPlace,
  { words, press }: { readonly words: string; readonly press?: readonly [seen: RegExp, key: string] },
): Promise<{
  readonly exit: number;
  readonly seen: ReadonlySet<string>;
  readonly terminal: FakeTerminal;
}> {
  const terminal = new FakeTerminal(90, 24);
  const command = `stty cols 90 rows 24; exec ${swarmProgram} ${words}`;
  const child = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
    cwd: place.repository,
    env: {
      ...{ ...process.env, ...swarmEnv(place) },
      ...{ CI: "", CLAUDECODE: "", NO_COLOR: "1", TERM: "xterm", LANG: "C.UTF-8", LC_ALL: "C.UTF-8" },
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const seen = new Set<string>();
  let key = press;
  for await (const text of child.stdout.setEncoding("utf8")) {
    terminal.write(text);
    for (const line of terminal.screen()) seen.add(line);
    if (!key?.[0].test(terminal.screen().join("\n"))) continue;
    child.stdin.write(key[1]);
    key = undefined;
  }
  child.stdin.end();
  const [exit] = (await exited) as [number];
  return { exit, seen, terminal };
}

describe("a swarm on a terminal", () => {
  test("is seen while it runs, and what is left is how it ended", async ({ place }) => {
    writeLedgerTasks(place, [
      { name: "first", stories: 2, seconds: 0.6 },
      { name: "second", stories: 1, dependsOn: ["first"] },
    ]);

    const { exit, seen, terminal } = await onTerminal(place, { words: "start --all" });

    expect(exit).toBe(0);
    const lines = [...seen];
    expect(lines).toContainEqual(expect.stringMatching(/^◦ preparing {2}/));
    expect(lines).toContainEqual(
      expect.stringMatching(/^▸ running {4}first {3}1\/2 {3}0:0\d {2}feat\/first {3}US-002/),
    );
    expect(lines).toContainEqual(expect.stringMatching(/^1 waiting/));
    expect(lines).toContainEqual(expect.stringMatching(/^▸ running {4}second {2}0\/1/));
    expect(lines).toContainEqual(expect.stringMatching(/^1 running, 1 completed {2}2\/3 stories/));
    expect(terminal.screen().join("\n")).not.toMatch(/running|preparing|waiting/);
    expect(terminal.screen().join("\n")).toMatch(
      /\nswarm .*[\s\S]*completed +first[\s\S]*completed +second[\s\S]*\nnext: /,
    );
    expect(terminal.hasCursor).toBe(true);
  });

  test("Ctrl-C is heard, said above its lines, and ends nothing at once", async ({ place }) => {
    writeLedgerTasks(place, [{ name: "work", stories: 2, seconds: 0.8 }]);

    const { exit, terminal } = await onTerminal(place, {
      words: "start --all",
      press: [/running +work +0\/2 .* US-001/, "\u0003"],
    });

    expect(exit).toBe(130);
    expect(terminal.screen()).toContainEqual(expect.stringMatching(/^(\^C)?Stopping: /));
    expect(terminal.screen().join("\n")).toMatch(/stopped +work[\s\S]*\nnext: `swarm resume`/);
  });
});
