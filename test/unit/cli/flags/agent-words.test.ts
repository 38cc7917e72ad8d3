import { describe, expect, test } from "vitest";
import { defaultAgentFromSettings, findAgentProblem } from "../../../../src/agents/default-agent.ts";
import { commands } from "../../../../src/cli/flags/commands.ts";
import { settingsFromFlags } from "../../../../src/cli/flags/setting-flags.ts";
import { splitCommandLine } from "../../../../src/cli/flags/split-command-line.ts";

describe("the words after --", () => {
  test.each([
    ["start --all --agent command -- sh -c x", "start --all --agent command", "sh -c x"],
    ["run do --agent=command -- a -- b", "run do --agent=command", "a -- b"],
    ["config explain --agent acp -- gemini --acp", "config explain --agent acp", "gemini --acp"],
    ["start --agent command --", "start --agent command", ""],
    ["start -- --odd-tasks.json", "start -- --odd-tasks.json", ""],
    ["sandbox exec tool --agent x -- y", "sandbox exec tool --agent x -- y", ""],
    ["nosuch --agent x -- y", "nosuch --agent x -- y", ""],
    ["start --agent command", "start --agent command", ""],
    ["", "", ""],
  ])("%s", (typed, own, program) => {
    const wordsOf = (text: string): string[] => text.split(" ").filter(Boolean);

    expect(splitCommandLine(wordsOf(typed), commands)).toEqual({
      swarmWords: wordsOf(own),
      program: wordsOf(program),
    });
  });
});

describe("the agent of tasks that name none", () => {
  test.each([
    ["claude", [], { kind: "claude" }],
    // What is meant for another agent is not taken along.
    ["claude", ["sh"], { kind: "claude" }],
    ["command", ["sh", "-c", "x"], { kind: "command", command: ["sh", "-c", "x"] }],
    ["acp", ["gemini"], { kind: "acp", command: ["gemini"] }],
    ["script", ["a.json"], { kind: "script", script: "a.json" }],
  ] as const)("%s with %j", (agent, agentCommand, expected) => {
    expect(findAgentProblem({ agent, agentCommand })).toBeNull();
    expect(defaultAgentFromSettings({ agent, agentCommand })).toEqual(expected);
  });

  test.each([
    ["command", []],
    ["acp", []],
    ["script", []],
    ["script", ["a.json", "b.json"]],
  ] as const)("%s with %j lacks something", (agent, agentCommand) => {
    expect(findAgentProblem({ agent, agentCommand })).toMatch(`--agent ${agent} -- `);
  });

  test("flags become settings: the program, and --max as it was typed before", () => {
    expect(settingsFromFlags({ agent: "command", max: "3" }, ["sh"])).toEqual({
      ...{ agent: "command", agentCommand: ["sh"], parallel: 3 },
    });
    expect(settingsFromFlags({ parallel: "2", max: "3" }, [])).toEqual({ parallel: 2 });
    expect(() => settingsFromFlags({ agent: "claude" }, ["sh"])).toThrow("no program may follow");
  });
});
