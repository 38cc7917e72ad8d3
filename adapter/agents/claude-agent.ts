import { randomUUID } from "node:crypto";
import { addAbortListener } from "node:events";
import type { Agent, AgentProgram, AgentTurn, TurnEnd, TurnSandbox } from "./agent.ts";
import { type ClaudeExit, classifyClaudeRun, isApiKeyRefused } from "./classify-claude-run.ts";
import { applyClaudeEvent, type ClaudeRunState, createClaudeRunState } from "./claude-run-state.ts";
import { parseJsonLine } from "./read-json-fields.ts";
import { killProgramAfter, waitForExitOrKill } from "./wait-for-exit.ts";

const stopMs = 5_000;
/**
 * How long, in milliseconds, Claude Code may wait for background programs after it has reported a result.
 * Without this limit, a server in the background would keep it waiting forever.
 */
const backgroundMs = 120_000;
/**
 * The maximum time, in milliseconds, to wait for Claude Code's output pipe to close after Claude Code exits.
 * Other programs may hold the pipe open.
 */
const outputGraceMs = 5_000;

/** The kind of agent that runs Claude Code in its non-interactive mode. */
export const claudeAgent: Agent = {
  kind: "claude",
  program: () => "claude",
  needsOneOf: [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
  ],
  versionFlags: ["--version"],
  runTurn: executeTurn,
};

interface Start {
  readonly id: string;
  /** Whether Claude Code continues an existing conversation. */
  readonly isResumed: boolean;
}

async function executeTurn(turn: AgentTurn, tools: TurnSandbox, signal: AbortSignal): Promise<TurnEnd> {
  const knownId = turn.continues ? tools.conversation.id : null;
  const start =
    knownId === null
      ? await startNewConversation(tools)
      : { id: knownId, isResumed: await hasConversation(knownId, tools) };
  const { facts, exit } = await run(turn, start, tools, signal);
  // Exit code 1 before any event: Claude Code refused the conversation, which may be damaged or in use. Retries in a new
  // conversation.
  const isUnknown = !facts.hasBegun && exit.manner === "by-itself" && exit.code === 1;
  if (knownId === null || !isUnknown) return classifyClaudeRun(facts, exit);
  const again = await run(turn, await startNewConversation(tools), tools, signal);
  return classifyClaudeRun(again.facts, again.exit);
}

/**
 * Chooses an ID for a new conversation and stores it before Claude Code starts. So the conversation can
 * continue even if the container crashes.
 */
async function startNewConversation(tools: TurnSandbox): Promise<Start> {
  const id = randomUUID();
  await tools.conversation.keep(id);
  return { id, isResumed: false };
}

/**
 * A shell script that exits with 0 if the conversation's file exists. Removes a pipe or other special file at
 * that path, because Claude Code would block on a pipe.
 */
const findConversation = `for each in "\${CLAUDE_CONFIG_DIR:-$HOME/.claude}"/projects/*/"$1".jsonl; do
  [ -f "$each" ] && exit 0
  rm -rf -- "$each"
done
exit 1`;

/**
 * Returns whether Claude Code has a conversation with the given ID. Claude Code fails if it is told to resume
 * an unknown conversation or to create an existing one.
 */
async function hasConversation(id: string, tools: TurnSandbox): Promise<boolean> {
  const { code } = await tools.runCommand(["sh", "-c", findConversation, "sh", id]);
  return code === 0;
}

interface Run {
  readonly facts: ClaudeRunState;
  readonly exit: ClaudeExit;
}

async function run(turn: AgentTurn, start: Start, tools: TurnSandbox, signal: AbortSignal): Promise<Run> {
  let facts = createClaudeRunState(start);
  let manner: ClaudeExit["manner"] = "by-itself";
  if (signal.aborted) return { facts, exit: { code: 0, stderrTail: "", manner: "stopped" } };
  const program = tools.start(commandOf(turn, start), withoutExtraTraffic(tools.env));
  let ending: Promise<number> = program.exit;
  let backgroundTimer: NodeJS.Timeout | undefined;
  await using killers = new AsyncDisposableStack();
  const stop = (why: ClaudeExit["manner"]): void => {
    if (manner !== "by-itself") return;
    manner = why;
    program.interrupt();
    ending = waitForExitOrKill(program, stopMs);
    // Avoids an unhandled rejection: `end` awaits `ending` only after the program has ended.
    ending.catch(() => {});
  };
  using _listener = addAbortListener(signal, () => stop("stopped"));

  const read = async (): Promise<void> => {
    for await (const line of program.lines) {
      const event = parseJsonLine(line);
      if (!event) continue;
      const step = applyClaudeEvent(facts, event);
      facts = step.facts;
      for (const activity of step.activities) tools.report(activity);
      if (step.usage) tools.reportUsage(step.usage);
      if (isApiKeyRefused(facts)) stop("stopped");
      clearTimeout(backgroundTimer);
      if (facts.result) backgroundTimer = setTimeout(() => stop("left-waiting"), backgroundMs);
    }
  };
  const end = async (): Promise<number> => {
    await program.exit;
    if (!killers.disposed) killers.use(killProgramAfter(program, outputGraceMs));
    return await ending;
  };
  try {
    const prompt = start.isResumed ? turn.prompt : (turn.promptForNewConversation ?? turn.prompt);
    const [code] = await Promise.all([end(), read(), writePrompt(program, prompt)]);
    return { facts, exit: { code, stderrTail: program.stderrTail, manner } };
  } finally {
    clearTimeout(backgroundTimer);
  }
}

function commandOf({ agent }: AgentTurn, { id, isResumed }: Start): string[] {
  return [
    ...["claude", "-p", "--output-format", "stream-json", "--verbose"],
    // No user is present to grant permissions, and the container is the security boundary.
    ...["--permission-mode", "bypassPermissions"],
    ...(agent.model === undefined ? [] : ["--model", agent.model]),
    ...(agent.maxTurns === undefined ? [] : ["--max-turns", String(agent.maxTurns)]),
    ...(isResumed ? ["--resume", id] : ["--session-id", id]),
  ];
}

/**
 * Returns environment variables that disable all of Claude Code's network calls except those to the model. In
 * a sandbox without a network, the other calls would wait until they time out.
 */
function withoutExtraTraffic(env: TurnSandbox["env"]): Record<string, string> {
  return {
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_ERROR_REPORTING: "1",
    IS_SANDBOX: "1",
    // Eight retries outlast an API that is overloaded for about two minutes; a story is worth that wait.
    CLAUDE_CODE_MAX_RETRIES: env["CLAUDE_CODE_MAX_RETRIES"] ?? "8",
  };
}

async function writePrompt(program: AgentProgram, prompt: string): Promise<void> {
  // Ignores a failed write: the program ended before it had read the whole prompt, and its exit code says why.
  await program.write(prompt).catch(() => {});
  program.endInput();
}
