import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { test as base, describe, expect } from "vitest";
import type { AgentProgram } from "../../../../adapter/agents/agent.ts";
import { claudeAgent } from "../../../../adapter/agents/claude-agent.ts";
import { commandAgent } from "../../../../adapter/agents/command-agent.ts";
import { runProgramAsAgentUser } from "../../../../adapter/machine/agent-user.ts";
import type { StartCommandTimeLimit } from "../../../../adapter/machine/command-time-limits.ts";
import { TimeLimitReached } from "../../../../adapter/machine/pause-aware-clock.ts";
import { startAgentProgram } from "../../../../adapter/turn/agent-program.ts";
import { prepareWorkspace } from "../../../../adapter/workspace/prepare-workspace.ts";
import { readRegularFileScript } from "../../../../adapter/workspace/work-folder.ts";
import {
  commandStateScript,
  killCommandScript,
  runCommandScript,
} from "../../../../src/sandbox/command/in-container-scripts.ts";
import { fakeAgentTools } from "../../../fakes/adapter/agent-tools.ts";
import {
  agentBranch,
  agentEnv,
  cutOffByHand,
  makePreparation,
  newContainer,
  noWorkLimits,
  preparationPaths,
  workspaceOf,
} from "../../../fakes/adapter/preparation.ts";
import { git } from "../../../fakes/git/repository.ts";

const run = promisify(execFile);
const env = { PATH: "/usr/bin:/bin" };
/** Far longer than any of it takes: what waits for the other end of a pipe comes to it, and is told of as such. */
const waitsMs = 30_000;

const test = base.extend<{ folder: string }>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the parameters
  folder: async ({}, use) => {
    const folder = mkdtempSync(join(tmpdir(), "swarm-pipes-"));
    chmodSync(folder, 0o755);
    await use(folder);
    rmSync(folder, { recursive: true, force: true });
  },
});

function limit(ms = waitsMs): ReturnType<StartCommandTimeLimit> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(new TimeLimitReached(ms)), waitsMs);
  return { signal: over.signal, [Symbol.dispose]: () => clearTimeout(timer) };
}

function pipeAt(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  rmSync(path, { recursive: true, force: true });
  execFileSync("mkfifo", ["--mode=666", path]);
  return path;
}

/** As the agent leaves things: they are its own. */
function give(folder: string): void {
  execFileSync("chown", ["-R", "--no-dereference", "1000:1000", folder]);
}

/** Opens the other end, which comes back when there is a program that has ours open: that one waited for us. */
async function meet(path: string, flags: "r" | "w"): Promise<void> {
  await using _ = await open(path, flags);
}

// It becomes another user, which only root may.
describe.skipIf(process.getuid?.() !== 0)("a pipe in the agent's reach", () => {
  const started: AgentProgram[] = [];
  const start = (words: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const program = startAgentProgram(
      { command: words, env: { ...env, ...more }, folder: "/" },
      { onBytes: () => {}, killAll: async () => {} },
    );
    started.push(program);
    return program;
  };
  const turn = (words: readonly string[], storyId: string) => ({
    ...{ storyId, prompt: "the prompt", continues: false },
    agent: { kind: "command" as const, command: words },
  });

  test("in the place of the prompt's file holds nothing up, and the program reads its prompt", async () => {
    const storyId = `US-001-${process.pid}`;
    const known = pipeAt(`/tmp/aimi-prompt-${storyId}.md`);
    give(known);
    const tools = { ...fakeAgentTools({ run: () => {} }), start };
    using limited = limit();

    const end = await commandAgent.runTurn(
      turn(
        ["sh", "-c", '[ "$(cat "$AIMI_PROMPT_FILE")" = "the prompt" ] && [ -f "$AIMI_PROMPT_FILE" ]'],
        storyId,
      ),
      tools,
      limited.signal,
    );

    expect(end).toEqual({ kind: "ended" });
    rmSync(known);
  });

  test("control: who writes to it as before waits for its reader", async ({ folder }) => {
    const pipe = pipeAt(join(folder, "prompt.md"));
    const writer = start(["sh", "-c", 'cat > "$1"', "sh", pipe]);
    void writer.write("the prompt");
    writer.endInput();

    await expect(meet(pipe, "r").then(() => "met")).resolves.toBe("met");
  });

  test("a prompt that cannot be written is told of, and one that waits ends with its turn", async () => {
    const tools = fakeAgentTools({
      run: (program) => void program.inputEnded.then(() => program.end(1, "No space left on device\n")),
    });
    expect(await commandAgent.runTurn(turn(["true"], "US-001"), tools, new AbortController().signal)).toEqual(
      {
        ...{ kind: "failed", code: "AGENT_CRASH", scope: "story" },
        message: "the agent's prompt could not be written to /tmp: No space left on device",
      },
    );

    const stop = new AbortController();
    const waiting = fakeAgentTools({ run: () => stop.abort() });
    expect(await commandAgent.runTurn(turn(["true"], "US-001"), waiting, stop.signal)).toMatchObject({
      kind: "failed",
    });
    expect(waiting.programs.map(({ signals }) => signals)).toEqual([["kill"]]);
  });

  test("in the place of a file that is read is none, as nothing is and a folder; a link to a file is one", async ({
    folder,
  }) => {
    const file = (name: string): string => join(folder, name);
    writeFileSync(file("plain"), "plain");
    mkdirSync(file("folder"));
    pipeAt(file("pipe"));
    for (const [link, target] of [
      ["link", "plain"],
      ["pipe-link", "pipe"],
    ] as const)
      symlinkSync(file(target), file(link));
    const read = async (name: string) => {
      using limited = limit();
      const words = ["sh", "-c", readRegularFileScript, "sh", file(name)];
      const { end, stdout } = await runProgramAsAgentUser({
        command: words,
        env,
        folder: "/",
        deadline: limited.signal,
      });
      return end.kind === "exited" ? [end.code, stdout] : end.kind;
    };

    expect(await read("plain")).toEqual([0, "plain"]);
    expect(await read("link")).toEqual([0, "plain"]);
    for (const name of ["pipe", "pipe-link", "folder", "none"])
      expect(await read(name), name).toEqual([3, ""]);
    // The control.
    const reader = start(["cat", file("pipe")]);
    expect(await Promise.race([reader.exit, meet(file("pipe"), "w").then(() => "met")])).toBe("met");
  });

  const paths = [
    ...[
      "HEAD",
      "config",
      "index",
      "packed-refs",
      "info/exclude",
      "info/attributes",
      "aimi-index",
      "index.lock",
    ],
    ...["aimi-bundle", "objects/info/alternates", `refs/heads/${agentBranch}`, "shallow", "commondir"],
  ];
  test.for([
    ...paths.map((name) => [name, "a pipe"] as const),
    ...["HEAD", "config", "info/exclude", "objects/info/alternates"].map(
      (name) => [name, "a link to one"] as const,
    ),
    ["refs/heads", "a link to a folder of them"] as const,
  ])("in .git: %s, %s", async ([name, what], { folder }) => {
    const preparation = makePreparation(folder, { isBegun: false });
    newContainer(folder, preparation);
    cutOffByHand(folder);
    const { workspace: at } = preparationPaths(folder);
    const path = join(at, ".git", name);
    if (what === "a pipe") pipeAt(path);
    else {
      const outside = join(folder, "outside");
      rmSync(path, { recursive: true, force: true });
      mkdirSync(dirname(path), { recursive: true });
      if (what === "a link to one") pipeAt(outside);
      else for (const branch of ["main", agentBranch]) pipeAt(join(outside, branch));
      symlinkSync(outside, path);
      give(outside);
    }
    give(at);

    const bundle = join(folder, "aimi", "out", "US-001.bundle");
    const prepared = prepareWorkspace({
      ...{ paths: preparationPaths(folder), branch: agentBranch, repoUrl: "image:", env: agentEnv },
      ...{ baseCommit: preparation.base, knownBase: preparation.base, knownExclude: null },
      history: {
        ...{
          statusById: new Map(),
          lastCheckpoint: { commit: preparation.good, bundle },
          lastBundle: bundle,
        },
      },
      ...{ limit: () => limit(), workLimits: noWorkLimits },
    });
    const said = await prepared.then(
      (workspace) => workspace.tip(),
      (error: Error) => error.message,
    );

    // Without what was in its place git may have no repository any more. That is told at once.
    expect(said).toMatch(
      new RegExp(`^${preparation.good}$|contains no git repository|git \\S+ ended with exit`),
    );
    expect(said).not.toContain("took longer");
  });

  test("a link in .git to a pipe is gone once the files are settled, and its target is left alone", async ({
    folder,
  }) => {
    const preparation = makePreparation(folder, { isBegun: false });
    newContainer(folder, preparation);
    cutOffByHand(folder);
    const { workspace: at } = preparationPaths(folder);
    const outside = pipeAt(join(folder, "outside"));
    symlinkSync(outside, join(at, ".git/shallow"));
    give(at);

    await workspaceOf(folder, preparation).restoreBranch();

    expect([existsSync(join(at, ".git/shallow")), existsSync(outside)]).toEqual([false, true]);
  });

  test("control: git waits for who writes to it", async ({ folder }) => {
    git(folder, "init", "--quiet");
    const pipe = pipeAt(join(folder, ".git/HEAD"));
    const asked = spawn("git", ["rev-parse", "--git-dir"], { cwd: folder, stdio: "ignore" });
    const exited = once(asked, "exit");

    expect(await Promise.race([exited, meet(pipe, "w").then(() => "met")])).toBe("met");
    await exited;
  });

  test("in the place of Claude's conversation is taken away, and a new one begun", async ({ folder }) => {
    const id = "0b0f4d0e-0000-4000-8000-000000000001";
    const conversation = pipeAt(join(folder, `.claude/projects/-workspace/${id}.jsonl`));
    give(join(folder, ".claude"));
    const tools = fakeAgentTools({
      conversation: id,
      run: (program) => program.end(1),
    });
    const runCommand = async (words: readonly string[]) => {
      using limited = limit();
      const { end, stdout } = await runProgramAsAgentUser({
        ...{ command: words, env: { ...env, HOME: folder }, folder: "/", deadline: limited.signal },
      });
      return { code: end.kind === "exited" ? end.code : -1, output: stdout };
    };
    const asked = { ...turn([], "US-001"), agent: { kind: "claude" as const }, continues: true };

    await claudeAgent.runTurn(asked, { ...tools, runCommand }, new AbortController().signal);
    expect(tools.programs[0]?.command).toContain("--session-id");
    expect(existsSync(conversation)).toBe(false);

    writeFileSync(conversation, "{}\n");
    const again = fakeAgentTools({ conversation: id, run: (program) => program.end(0) });
    await claudeAgent.runTurn(asked, { ...again, runCommand }, new AbortController().signal);
    expect(again.programs[0]?.command).toContain("--resume");
  });
});

describe("a pipe that a program in a sandbox puts in the place of our note about it", () => {
  const key = `pipes-${process.pid}`;
  const note = `/tmp/.aimi-${key}`;
  const sh = (script: string, ...words: string[]) =>
    run("sh", ["-c", script, "sh", key, ...words], { timeout: waitsMs, killSignal: "SIGKILL" });

  test("holds up neither who writes it nor who asks", async () => {
    pipeAt(note);
    expect((await sh(commandStateScript)).stdout).toBe("");

    rmSync(note);
    const replace = `rm -f ${note}; mkfifo ${note}`;
    await sh(runCommandScript, "keep", "sh", "-c", replace);
    expect((await sh(commandStateScript)).stdout).toBe("exit 0\n");

    pipeAt(note);
    await sh(killCommandScript);
    expect(existsSync(note)).toBe(false);
  });
});
