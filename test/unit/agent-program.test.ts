import { describe, expect, test } from "vitest";
import { startProgram } from "../../adapter/agent-program.ts";
import { exitOf, runAsAgent, startAsAgent } from "../../adapter/agent-user.ts";

// It becomes another user, which only root may.
describe.skipIf(process.getuid?.() !== 0)("a program of the agent's user", () => {
  const env = { PATH: "/usr/bin:/bin" };
  const start = (...command: string[]) =>
    startProgram({ command, env, folder: "/" }, { onBytes: () => {}, endAll: async () => {} });

  test("is read to its end, also by who comes when it has ended", async () => {
    const program = start("sh", "-c", "echo first; echo last");

    expect(await program.exit).toBe(0);

    expect(await Array.fromAsync(program.lines)).toEqual(["first", "last"]);
  });

  test("control: what nobody reads when a program ends is gone", async () => {
    const child = startAsAgent({ command: ["echo", "first"], env, folder: "/" });
    await exitOf(child);

    expect(await Array.fromAsync(child.stdout)).toEqual([]);
  });

  test("need not read what it is given, nor anybody what it says", async () => {
    const input = "x".repeat(1 << 20);

    expect(await runAsAgent({ command: ["true"], env, folder: "/", input })).toMatchObject({ code: 0 });
    expect((await runAsAgent({ command: ["sh", "-c", "kill -KILL $$"], env, folder: "/" })).code).toBe(137);
  });

  test("is ended with its group at its deadline, and is told of as such", async () => {
    const command = ["sh", "-c", "sleep 600 & echo begun; sleep 600"];
    const deadline = new AbortController();
    const end = () => deadline.abort();

    const result = await runAsAgent({ command, env, folder: "/", onOutput: end, deadline: deadline.signal });

    expect(result).toMatchObject({ code: 137, isTimedOut: true, stdout: "begun\n" });
  });

  test("in a folder that is not there does not begin", async () => {
    expect((await runAsAgent({ command: ["true"], env, folder: "/none" })).code).toBe(126);
  });
});
