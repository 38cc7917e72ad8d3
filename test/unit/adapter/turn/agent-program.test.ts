import { createReadStream } from "node:fs";
import { describe, expect, test } from "vitest";
import { commandAgent } from "../../../../adapter/agents/command-agent.ts";
import { openJsonRpc } from "../../../../adapter/agents/json-rpc.ts";
import {
  runProgramAsAgentUser,
  startProgramAsAgentUser,
  waitForProgramEnd,
} from "../../../../adapter/machine/agent-user.ts";
import { TimeLimitReached } from "../../../../adapter/machine/pause-aware-clock.ts";
import { requireExitCode } from "../../../../adapter/machine/program-end.ts";
import { startAgentProgram } from "../../../../adapter/turn/agent-program.ts";
import { fakeAgentTools } from "../../../fakes/adapter/agent-tools.ts";

const exited = (code: number) => ({ kind: "exited", code }) as const;

/** What a caller makes of it that asks a question. */
function answerOf(ask: () => number): string {
  try {
    return ask() === 0 ? "yes" : "no";
  } catch (error) {
    return (error as Error).message;
  }
}

// It becomes another user, which only root may.
describe.skipIf(process.getuid?.() !== 0)("a program of the agent's user", () => {
  const env = { PATH: "/usr/bin:/bin" };
  const start = (...command: string[]) =>
    startAgentProgram({ command, env, folder: "/" }, { onBytes: () => {}, killAll: async () => {} });

  test("is read to its end, also by who comes when it has ended", async () => {
    const program = start("sh", "-c", "echo first; echo last");

    expect(await program.exit).toBe(0);

    expect(await Array.fromAsync(program.lines)).toEqual(["first", "last"]);
  });

  test("control: what nobody reads when a program ends is gone", async () => {
    const child = startProgramAsAgentUser({ command: ["echo", "first"], env, folder: "/" });
    await waitForProgramEnd(child);

    expect(await Array.fromAsync(child.stdout)).toEqual([]);
  });

  test("need not read what it is given, nor anybody what it says", async () => {
    const input = "x".repeat(1 << 20);

    expect(await runProgramAsAgentUser({ command: ["true"], env, folder: "/", input })).toMatchObject({
      end: exited(0),
    });
  });

  test("whose input cannot be read fails by that", async () => {
    const input = createReadStream("/none");

    await expect(runProgramAsAgentUser({ command: ["cat"], env, folder: "/", input })).rejects.toThrow(
      "ENOENT",
    );
  });

  const ends: readonly [string, string, unknown, string][] = [
    ["answers", "exit 1", exited(1), "no"],
    ["is killed", "kill -KILL $$", { kind: "killed", signal: "SIGKILL" }, "git was killed (SIGKILL)"],
    ["does not begin", "/none", exited(126), "no"],
  ];
  test.for(ends)("%s", async ([_how, shell, end, answer]) => {
    const isThere = !shell.startsWith("/");
    const command = ["sh", "-c", isThere ? shell : "true"];

    const result = await runProgramAsAgentUser({ command, env, folder: isThere ? "/" : shell });

    expect(result).toMatchObject({ end, isOutOfMemory: false });
    expect(answerOf(() => requireExitCode("git", result))).toBe(answer);
  });

  const reasons: readonly [string, unknown, unknown, string][] = [
    [
      "deadline",
      new TimeLimitReached(120_000),
      { kind: "deadline", ms: 120_000 },
      "git took longer than 2 min 0 s",
    ],
    [
      "halt",
      { reason: "asked to stop" },
      { kind: "halted" },
      "git was killed because the adapter is stopping all programs",
    ],
  ];
  test.for(reasons)(
    "is ended with its group at its %s, and is told of as such",
    async ([_what, reason, end, answer]) => {
      const command = ["sh", "-c", "sleep 600 & echo begun; sleep 600"];
      const stop = new AbortController();
      const onOutput = () => stop.abort(reason);

      const result = await runProgramAsAgentUser({
        command,
        env,
        folder: "/",
        onOutput,
        deadline: stop.signal,
      });

      expect(result).toMatchObject({ end, stdout: "begun\n" });
      expect(answerOf(() => requireExitCode("git", result))).toBe(answer);
      const never = await runProgramAsAgentUser({ command: ["sleep", "600"], env, folder: "/" }, stop.signal);
      expect(never).toMatchObject({ end });
    },
  );

  test("that gives up because the kernel ended its own child for memory has not answered", () => {
    expect(answerOf(() => requireExitCode("git", { end: exited(128), isOutOfMemory: true }))).toMatch(
      /memory/,
    );
    expect(answerOf(() => requireExitCode("git", { end: exited(0), isOutOfMemory: true }))).toBe("yes");
  });

  test("may speak without an end before it reads what it was asked", async () => {
    const talks = "head -c 1000000 /dev/zero | tr '\\0' '\\n'";
    const turn = {
      ...{ storyId: "US-001", prompt: "x".repeat(1 << 20), continues: false },
      agent: { kind: "command", command: ["sh", "-c", talks] },
    } as const;
    const tools = fakeAgentTools({ run: () => {} });

    const real = { ...tools, start: (words: readonly string[]) => start(...words) };
    const end = await commandAgent.runTurn(turn, real, new AbortController().signal);

    expect(end).toEqual({ kind: "ended" });
  });

  test("asks in a burst that no pipe holds, and is answered when it reads", async () => {
    const reads = `exec 3<&0; wc -l <&3 >&2 &
      seq -f '{"id":%.0f,"method":"a"}' 0 19999; exec 1>&-; wait`;
    const program = start("sh", "-c", reads);
    const rpc = openJsonRpc(program, { onRequest: () => ({}), onNotification: () => {} });

    await expect(rpc.request("initialize", {})).rejects.toThrow(
      "the agent ended before it answered a request",
    );
    program.endInput();
    await program.exit;

    expect(program.stderrTail.trim()).toBe("20001");
  });
});
